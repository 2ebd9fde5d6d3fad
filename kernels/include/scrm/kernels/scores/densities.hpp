/// Log-probabilities and log-densities of the logged actions of a block, from scores.
#pragma once

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"
#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm {

// Every function below works on whole columns of kBlockRows rows; rows past the block's end get values that mean
// nothing.

/// log N(a; μ, σ²). `mean` and `out` may be the same array.
void gaussian_log_density(const double* action, const double* mean, double scale, double* out) noexcept;

/// log of the density of a when log a ~ N(μ, σ²): −inf where a ≤ 0.
void lognormal_log_density(const double* action, const double* mean, double scale, double* out) noexcept;

/// log of (1−ε) softmax(scores)_a + ε/K. `scores` are K columns.
void softmax_log_probability(const std::int32_t* action, const double* scores, int num_actions, double epsilon,
                             double* out) noexcept;

/// The same from one tile after the other of a group of rows, the first actions first; the tile with the last of the
/// `num_actions` gives the group's rows of `out`.
void add_softmax_tile(const ScoreTile& tile, const std::int32_t* action, int num_actions, double epsilon,
                      double* out) noexcept;

/// The same without the logarithm: (1−ε) softmax(scores)_a + ε/K, over the propensity of each row where `propensity` is
/// not null. Where that probability is below all doubles, the quotient is formed by logarithms.
void add_softmax_density_tile(const ScoreTile& tile, const std::int32_t* action, int num_actions, double epsilon,
                              const double* propensity, double* out) noexcept;

/// log of the probability of all K bits: joint mixing (1−ε) Π p_k + ε/2^K, or Π ((1−ε) p_k + ε/2) per label, where
/// p_k = σ(s_k) for a bit that is set and σ(−s_k) for one that is not.
void multilabel_log_probability(const std::uint8_t* bits, const double* scores, int labels, double epsilon,
                                Mixing mixing, double* out) noexcept;

/// The same from one tile after the other of a group of rows, the first labels first; the tile with the last of the
/// `labels` gives the group's rows of `out`, which hold unfinished sums before.
void add_multilabel_tile(const ScoreTile& tile, const std::uint8_t* bits, int labels, double epsilon, Mixing mixing,
                         double* out) noexcept;

/// Probability of each logged bit by itself, (1−ε) p_k + ε/2 under either mixing; K columns.
void multilabel_label_probability(const std::uint8_t* bits, const double* scores, int labels, double epsilon,
                                  double* out) noexcept;

}  // namespace scrm
