/// ScoreMatrix: the K scores of every row of a block by matrix product, dense or sparse, whole or in tiles.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/kernels/scores/fourier_features.hpp"
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
  /// Whether scores can be taken from tiles of contexts: a dense context, linear features, and not too many of them.
  bool has_context_tiles() const noexcept { return !score_bound_.empty(); }
  /// Scores of a tile of contexts that gather_context_tile made; first_row counts from its own first row.
  void tile_scores(const double* tile, const ScoreRange& range) const;
  /// What largest_score_bound needs; only with has_context_tiles().
  const double* score_bound() const noexcept { return score_bound_.data(); }
  /// One number for each valid context of a block whose rows share them.
  void context_scores(const Block& block, double* out) const;

 private:
  void replayed_scores(const Block& block, PolicyScratch& scratch, double* out) const;
  void mapped_scores(const Block& block, const ScoreRange& range) const;
  void mapped_scores(const Block& block, PolicyScratch& scratch, double* out) const;
  /// Columns [first, first + count) of φ(x), `rows` apart.
  void mapped_panel(const Block& block, std::int64_t first, std::int64_t count, int first_row, int rows,
                    double* out) const;

  Policy policy_;
  std::shared_ptr<const FourierTransform> fourier_;
  std::vector<double> score_bound_;  // the largest |θ| of each column, where contexts go by tiles
  std::vector<double> by_feature_;   // sparse: [1 + features, K], so that one entry touches one contiguous run
};

}  // namespace scrm
