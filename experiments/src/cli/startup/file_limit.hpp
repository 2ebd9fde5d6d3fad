/// Files that the program may have open at a time.
#pragma once

namespace scrm {

/// Raises the limit to what the system allows this process. Shells set a lower one (1,024) for the sake of programs
/// that cannot count further; many threads on folders of many shards need more.
void raise_file_limit() noexcept;

}  // namespace scrm
