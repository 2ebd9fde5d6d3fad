/// ScoreMatrix: the K scores of every row of a block by matrix product, dense or sparse.
#pragma once

#include <cstdint>
#include <vector>

#include "scrm/engine/target_policy.hpp"

namespace scrm {

class ScoreMatrix {
 public:
  ScoreMatrix(const Policy& policy, const Schema& schema);

  const Policy& policy() const noexcept { return policy_; }
  /// K columns of scores into `out`.
  void scores(const Block& block, PolicyScratch& scratch, double* out) const;
  /// The same, one number for each valid context of a block whose rows share them.
  void context_scores(const Block& block, double* out) const;
  std::size_t scratch_bytes() const;

 private:
  void replayed_scores(const Block& block, PolicyScratch& scratch, double* out) const;
  void dense_scores(const Block& block, PolicyScratch& scratch, double* out) const;

  Policy policy_;
  std::vector<double> by_feature_;  // sparse: [1 + features, K], so that one entry touches one contiguous run
};

}  // namespace scrm
