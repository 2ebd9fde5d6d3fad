/// What a process may still take where its address space is limited (`ulimit -v`, `ulimit -d`).
#pragma once

#include <cstddef>
#include <optional>

namespace scrm {

/// What a thread may take of it: its stack, and a buffer of OpenBLAS's, which waits forever for one that it cannot
/// have. HDF5, too, does not survive a refusal. So none of them is to meet one: threads get half of what is left, rows
/// a quarter, and where less than this much is left no work begins.
inline constexpr std::size_t kThreadAddressSpace = std::size_t{160} << 20U;
inline constexpr std::size_t kLeastAddressSpace = std::size_t{256} << 20U;

/// Bytes of it that are left; none where it is not limited.
std::optional<std::size_t> address_space_left();

/// The memory that rows may take, at most `memory`. Throws an Error where too little is left for any work.
std::size_t memory_in_address_space(std::size_t memory);

/// As many threads as there is room for, at most `threads` and at least one: that of the caller.
int threads_in_address_space(int threads);

}  // namespace scrm
