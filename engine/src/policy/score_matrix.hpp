/// ScoreMatrix: the K scores of every row of a block by matrix product, dense or sparse, whole or in tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/kernels/scores/scores.hpp"

namespace scrm {

class ScoreMatrix {
 public:
  ScoreMatrix(const Policy& policy, const Schema& schema);

  const Policy& policy() const noexcept { return policy_; }
  /// K columns of scores into `out`.
  void scores(const Block& block, PolicyScratch& scratch, double* out) const;
  /// Scores of some rows and some outputs of a block whose rows share no contexts, to the bit those of `scores`. Rows
  /// in whole vectors: a multiple of 16, from a multiple of 16 on.
  void scores(const Block& block, const ScoreRange& range) const;
  /// One number for each valid context of a block whose rows share them.
  void context_scores(const Block& block, double* out) const;

 private:
  void replayed_scores(const Block& block, PolicyScratch& scratch, double* out) const;
  void mapped_scores(const Block& block, const ScoreRange& range) const;
  void mapped_scores(const Block& block, PolicyScratch& scratch, double* out) const;

  Policy policy_;
  std::vector<double> by_feature_;  // sparse: [1 + features, K], so that one entry touches one contiguous run
};

}  // namespace scrm
