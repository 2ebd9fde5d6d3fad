/// Log-probabilities of logged actions together with their derivatives by the scores, as learning needs both.
#pragma once

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm {

// Whole columns of kBlockRows rows, as in densities.hpp. `scores` comes in as the K scores and goes out as the K
// derivatives ∂ log π(a|x) / ∂ score_k.

/// gaussian and lognormal: scores is the one column μ, and the derivative is (a − μ)/σ² or (log a − μ)/σ². Where a
/// lognormal action is not positive, the log-density is −inf and the derivative 0.
void gaussian_gradient(const double* action, double scale, double* scores, double* log_density) noexcept;
void lognormal_gradient(const double* action, double scale, double* scores, double* log_density) noexcept;

/// ∂ log π(a|x) / ∂ log σ of both, from the scores as they come in: ((a − μ)/σ)² − 1 or ((log a − μ)/σ)² − 1; 0 where
/// a lognormal action is not positive.
void gaussian_scale_gradient(const double* action, const double* scores, double scale, double* out) noexcept;
void lognormal_scale_gradient(const double* action, const double* scores, double scale, double* out) noexcept;

/// softmax: ((1−ε) p_a / π) (1[a = k] − p_k).
void softmax_gradient(const std::int32_t* action, int num_actions, double epsilon, double* scores,
                      double* log_probability) noexcept;

/// The derivatives by the scores of one tile, which may be any, once add_softmax_tile had all actions of its rows: what
/// it left in the state is used. `scores` is tile.scores.
void softmax_tile_gradient(const ScoreTile& tile, const std::int32_t* action, int num_actions, double epsilon,
                           double* scores) noexcept;

/// multilabel, all bits together: ((1−ε) Π p / π) (b_k − σ(s_k)) for joint mixing, and label by label otherwise.
void multilabel_gradient(const std::uint8_t* bits, int labels, double epsilon, Mixing mixing, double* scores,
                         double* log_probability) noexcept;

/// multilabel, each bit by itself: π_k = (1−ε) p_k + ε/2 into `probability` (K columns) and ∂ log π_k / ∂ s_k into
/// scores.
void label_gradient(const std::uint8_t* bits, int labels, double epsilon, double* scores, double* probability) noexcept;

}  // namespace scrm
