/// The terms of a learning objective over one block: risk, variance, and the coefficients of their gradients.
#pragma once

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/moments.hpp"

namespace scrm {

/// How a weight enters the objective.
enum class WeightCut : std::uint8_t {
  none,  ///< w
  clip,  ///< min(w, M)
  ix,    ///< w / (1 + α w)
};

struct LearningRules {
  WeightCut cut = WeightCut::none;
  double parameter = 0;    ///< M or α
  double control = 0;      ///< variance term (cut(w) − control) y: 1 for ips-ix (the control variate ζ), 0 otherwise
  double largest = 1e100;  ///< weights beyond are held there, with no gradient
};

/// Sums over the rows that a mask keeps.
struct LearningTerms {
  Moments risk;      ///< cut(w) y
  Moments variance;  ///< (cut(w) − control) y
  Moments weight;    ///< w, for the effective sample size and for snips
};

/// Reads weights and losses of the block's rows; `keep` is null, or 1 for rows that count and 0 for others. Writes, for
/// every row, slope = ∂(cut(w) y)/∂ log w and spread = the variance term minus its mean over the block; both are 0 for
/// rows that do not count and past the block's rows. Weights become 0 there too.
LearningTerms learning_terms(const Block& block, const std::uint8_t* keep, const LearningRules& rules, double* weights,
                             double* slope, double* spread) noexcept;

/// Terms of the additive estimator. `slopes` (K columns ∂ log π_k / ∂ s_k) becomes the coefficients of the risk's
/// gradient, (y − ȳ) w_k (1 − α w_k) ∂ log π_k / ∂ s_k, and `second` those of the variance's, the same times (t − mean
/// t), where t = (y − ȳ) Σ_k (w_k − 1), w_k = π_k / (p_k + α π_k). `risk` and `variance` are the moments of t; there is
/// no weight.
LearningTerms additive_terms(const Block& block, const std::uint8_t* keep, const double* label_probability,
                             double alpha, double mean_loss, double* slopes, double* second) noexcept;

/// out[j columns + c] += Σ_i coefficients[c kBlockRows + i] x_ij over a sparse block: one row for each feature.
void add_sparse_context_products(const Block& block, const double* coefficients, int columns, double* out) noexcept;

/// first[k][i] = slope[i] slopes[k][i], second[k][i] = spread[i] first[k][i]: coefficients of the gradients of risk and
/// variance, from the K columns ∂ log π / ∂ score_k. first may be the same array as slopes.
void gradient_coefficients(const double* slope, const double* spread, const double* slopes, int columns, double* first,
                           double* second) noexcept;

}  // namespace scrm
