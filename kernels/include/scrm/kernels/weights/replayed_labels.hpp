/// A multilabel policy on contexts that several rows share: everything but the bits is computed once for each context.
#pragma once

#include "scrm/kernels/block.hpp"

namespace scrm {

/// log π(bits) = log_none + Σ_k bit_k log_odds_k; ∂ log π(bits)/∂ score_k = unset_gradient_k (+ log_odds_gradient_k if
/// set). Columns of one number a context; those of several labels lie kBlockRows apart.
struct LabelLogOdds {
  double* log_odds = nullptr;           ///< of each bit; holds the scores before label_log_odds
  double* log_none = nullptr;           ///< log-probability that no bit is set
  double* unset_gradient = nullptr;     ///< ∂ log π/∂ score_k where bit k is 0
  double* log_odds_gradient = nullptr;  ///< ∂ log_odds_k/∂ score_k; null without mixing, where it is 1
};

/// Fills the columns of `contexts` contexts (and of more, up to whole vectors) from the scores in odds.log_odds; every
/// label is mixed with ε/2.
void label_log_odds(int contexts, int labels, double epsilon, const LabelLogOdds& odds) noexcept;

/// out[i] = log π(bits of row i) for the valid rows of a block; 0 past them.
void replayed_log_probability(const Block& block, const LabelLogOdds& odds, double* out) noexcept;

/// out[k kBlockRows + c] = Σ_i row[i] ∂ log π(bits of row i)/∂ score_k over the rows of context c: what the context is
/// multiplied with in a gradient. Zero past the valid contexts, up to whole vectors.
void replayed_coefficients(const Block& block, const LabelLogOdds& odds, const double* row, double* out) noexcept;

}  // namespace scrm
