/// ModelSums: what a pass adds up of a model's predictions for one policy.
#pragma once

#include <span>

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// Three quantities together: means and centred product sums.
struct TripleMoments {
  double count = 0;
  double mean[3] = {};
  double product[3][3] = {};  ///< Σ (x_i − mean_i) (x_j − mean_j), the lower triangle

  void merge(const TripleMoments& later) noexcept;
  /// Variance, with n − 1, of slopes · x.
  double variance_along(std::span<const double, 3> slopes) const noexcept;
};

/// q is what the model predicts for the logged action, q_π its expectation over the policy's actions.
struct ModelSums {
  Moments prediction;   ///< q_π
  Moments terms;        ///< q_π + w (y − q)
  Moments residual;     ///< w (y − q)
  TripleMoments joint;  ///< q_π, w (y − q) and w
  Moments additive;     ///< q_π + (y − q) (1 + S), S that of the additive estimator; only with `label_sums`

  void merge(const ModelSums& later) noexcept;
};

/// The same of a policy minus a baseline.
struct ModelDifference {
  Moments prediction, terms, additive;

  void merge(const ModelDifference& later) noexcept;
};

/// What a model says of the rows of a block under one policy; columns of kBlockRows.
struct ModelColumnsOfBlock {
  alignas(kColumnAlignment) double prediction[kBlockRows];  ///< q_π
  alignas(kColumnAlignment) double residual[kBlockRows];    ///< y − q, the same for all policies
  alignas(kColumnAlignment) double terms[kBlockRows];       ///< q_π + w (y − q)
};

/// The sums over a block, and its `terms`.
ModelSums model_sums(int rows, const double* weights, ModelColumnsOfBlock& columns) noexcept;

}  // namespace scrm
