/// The objective of a multilabel policy on rows that share contexts, in two passes over rows held in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "pass/pool.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "scrm/engine/learn/objective.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"

namespace scrm {

/// What the first pass leaves of a block for the second.
class ReplayedBlock {
 public:
  /// Memory for so many columns, if there is not as much already.
  void reserve(std::int64_t columns) {
    if (columns <= held_) return;
    columns_ = make_aligned_for_overwrite<double>(static_cast<std::size_t>(columns) * kBlockRows);
    held_ = columns;
  }

  /// Weights, slopes of the risk, variance terms around the block's mean; then `unset_gradient` and, with mixing,
  /// `log_odds_gradient` of every label.
  double* column(std::int64_t index) const { return columns_.get() + index * kBlockRows; }
  double* weights() const { return column(0); }
  double* slope() const { return column(1); }
  double* spread() const { return column(2); }

  double variance_mean = 0;

 private:
  AlignedArray<double> columns_;
  std::int64_t held_ = 0;
};

/// Memory of evaluations on rows that share contexts. A search keeps it: pages are dear where an evaluation takes less
/// than a millisecond.
struct ReplayedWorkspace {
  std::vector<ReplayedBlock> blocks;
  Pool<PolicyScratch> scratch;
};

/// Whether evaluate_replayed applies. A property of rows and problem alone: the two routes differ in the last bits.
bool shares_contexts(const Schema& schema, const ObjectiveProblem& problem);

/// The first pass adds up the terms; then the factor of every row's slope is known, and the second multiplies contexts
/// with one column a label, where a single pass needs three for a ratio. Scores, logarithms and slopes are computed
/// once for each context.
ObjectiveValue evaluate_replayed(Source& source, const ObjectiveProblem& problem, const PassOptions& options,
                                 bool skip_bad_rows, ReplayedWorkspace& workspace);

/// evaluate_objectives of objective.hpp, with a workspace that stays.
std::vector<ObjectiveValue> evaluate_objectives(Source& source, const std::vector<ObjectiveProblem>& problems,
                                                const PassOptions& options, bool skip_bad_rows,
                                                ReplayedWorkspace& workspace);

}  // namespace scrm
