/// Importance weights w = π(a|x) / p of a block.
#pragma once

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Weights from log π(a|x) and the block's logged propensities, one exponential a row. With log-propensities
/// w = exp(log π − log p); with plain ones exp(log π) / p wherever exp(log π) is an ordinary number, so that a policy
/// that logged its own exponentials gets weights of exactly one, and exp(log π − log p) where it is not. kBlockRows
/// rows.
void weights_from_log_density(const Block& block, const double* log_density, double* out) noexcept;

/// Weights from plain probabilities or densities of the logged actions.
void weights_from_density(const Block& block, const double* density, double* out) noexcept;

/// Per-label weights of the additive estimator: out[i] = Σ_k (w_k − 1), w_k = π_k / (p_k + α π_k), from K columns of
/// target probabilities and the block's label propensities.
void label_weight_excess(const Block& block, const double* label_probability, double alpha, double* out) noexcept;

}  // namespace scrm
