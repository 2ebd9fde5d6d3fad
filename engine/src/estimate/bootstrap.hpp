/// Poisson bootstrap of all policies at once, from sums over small groups of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "estimate/estimator.hpp"
#include "scrm/engine/pass.hpp"

namespace scrm {

/// Sums over groups of consecutive rows, filled during the pass (each block writes its own groups, so threads never
/// meet) and resampled afterwards. Up to kMaxGroups rows every row is a group of its own; above, groups are the
/// smallest power of two of rows that keeps their number there, or a block at most. Rows are independent draws, so
/// groups are too, and their Poisson resampling has the same limit; its cost stays the same however many rows there
/// are.
class Bootstrap {
 public:
  static constexpr std::int64_t kMaxGroups = 32768;

  Bootstrap(std::int64_t rows, std::size_t policies, bool additive);

  static std::size_t bytes(std::int64_t rows, std::size_t policies, bool additive);

  /// Sums of one policy over the groups of one block. `excess` is the additive estimator's S, or null.
  void add_block(const Block& block, std::size_t policy, const double* weights, const WeightOptions& rules,
                 const double* excess);
  /// Row counts and losses of one block, shared by all policies.
  void add_block_losses(const Block& block);

  /// Brings the top rows down to the automatic M, known only after the pass.
  void clip_top_rows(std::size_t policy, const TopRows& top, double clip);

  /// Totals of every replicate of one policy, replicates 0..count−1, the same bits at any thread count.
  std::vector<std::vector<ReplicateTotals>> replicate(std::uint64_t seed, int count, int threads) const;

 private:
  double* group(std::int64_t row);

  std::int64_t group_rows_;
  std::int64_t groups_;
  std::size_t policies_;
  bool additive_;
  std::size_t width_;         // sums a group: two shared ones, then those of each policy
  std::vector<double> sums_;  // [groups, width]
};

}  // namespace scrm
