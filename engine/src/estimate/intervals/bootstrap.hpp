/// Poisson bootstrap of all estimates at once, from sums over groups of rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimate/groups/group_layout.hpp"
#include "scrm/engine/schedule/stop_token.hpp"

namespace scrm {

/// Draws replicates 0..count−1, in which every group of rows counts a Poisson(1) number of times, and gives the values
/// of each column, the same bits at any thread count and whatever columns are asked for together. Ends with
/// StopRequested soon after a request.
std::vector<std::vector<double>> bootstrap_replicates(const GroupTable& table, std::uint64_t seed, int count,
                                                      std::span<const EstimateColumn> columns, int threads,
                                                      const StopToken& stop);

/// Bytes that the values of one column take, and those that each thread of bootstrap_replicates() works with.
std::size_t bootstrap_column_bytes(int count);
std::size_t bootstrap_thread_bytes(const GroupLayout& layout);

}  // namespace scrm
