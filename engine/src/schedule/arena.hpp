/// in_arena: work on a given number of threads, more than cores included.
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "scrm/engine/schedule/threads.hpp"

namespace scrm {

/// Calls work() on this thread; TBB's loops inside it spread over `threads` threads (0: all cores) and no others.
template <class Work>
void in_arena(int threads, Work&& work) {
  threads = resolve_threads(threads);
  // TBB would cap an arena at what it may use, the cores by default, and complain on stderr. Where the limit is high
  // enough, as inside the scheduler's jobs, a second one must not lower it.
  std::optional<tbb::global_control> limit;
  constexpr auto kLimit = tbb::global_control::max_allowed_parallelism;
  if (tbb::global_control::active_value(kLimit) < static_cast<std::size_t>(threads)) {
    limit.emplace(kLimit, static_cast<std::size_t>(threads));
  }
  tbb::task_arena(threads).execute(std::forward<Work>(work));
}

}  // namespace scrm
