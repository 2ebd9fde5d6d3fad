/// What runs of a sweep hold in memory beside their rows.
#pragma once

#include <cstddef>

namespace scrm {

// What a run holds that makes its rows anew, loaders, partial sums and the search: so much, or a share of the budget.
inline constexpr std::size_t kStreamingBytes = 64 << 20;
inline constexpr std::size_t kStreamingShare = 4;
// What every run holds beside its rows: blocks on their way, a thread's stack and first allocations.
inline constexpr std::size_t kWorkingBytes = 1 << 20;
inline constexpr std::size_t kWorkingBlocks = 4;

}  // namespace scrm
