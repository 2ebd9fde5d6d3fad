/// resolve_threads: how many threads "all cores" are.
#pragma once

namespace scrm {

/// The number asked for; where that is zero or less, the cores this process may run on, which are fewer than the
/// machine has under taskset or a batch scheduler.
int resolve_threads(int requested) noexcept;

}  // namespace scrm
