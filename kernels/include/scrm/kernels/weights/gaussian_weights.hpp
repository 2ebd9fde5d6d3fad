/// Importance weights of linear gaussian policies in one loop over a block, several policies at a time.
#pragma once

#include "scrm/kernels/block.hpp"

namespace scrm {

/// N(θ₀ + θ·x, scale²); theta has 1 + features numbers.
struct LinearGaussian {
  const double* theta = nullptr;
  double scale = 1.0;
};

/// Weights π(a|x) / p of every policy on a block with a dense context: `count` columns of kBlockRows into `out`. The
/// same bits as block_scores, gaussian_log_density and weights_from_log_density one after the other, and nothing but
/// the weights leaves the first-level cache.
void gaussian_weights(const Block& block, const LinearGaussian* policies, int count, double* out) noexcept;

}  // namespace scrm
