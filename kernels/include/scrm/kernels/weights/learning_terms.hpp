/// The terms of a learning objective over one block: risk, variance, and the coefficients of their gradients.
#pragma once

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// How a weight enters the objective.
enum class WeightTransform : std::uint8_t {
  none,   ///< w
  clip,   ///< min(w, M)
  ix,     ///< w / (1 + α w)
  given,  ///< any other function of w, computed by the caller
};

struct TermOptions {
  WeightTransform transform = WeightTransform::none;
  double parameter = 0;        ///< M or α
  double control_variate = 0;  ///< c in the variance term (transform(w) − c) y: 1 for ips-ix (ζ), 0 otherwise
  double weight_cap = 1e100;   ///< larger weights are clipped here and have no gradient
  double baseline = 0;         ///< y is the loss less this
  /// WeightTransform::given: columns of transform(w) and ∂transform(w)/∂ log w at min(w, weight_cap) of every row.
  const double* transformed = nullptr;
  const double* transform_slopes = nullptr;
};

/// Sums over the rows that a mask keeps.
struct LearningTerms {
  Moments risk;      ///< transform(w) y
  Moments variance;  ///< (transform(w) − control_variate) y
  Moments weight;    ///< w, for the effective sample size and for snips
};

/// Reads weights and losses of the block's rows; `keep` is null, or 1 for rows that count and 0 for others. Writes, for
/// every row, term_gradients = ∂(transform(w) y)/∂ log w and centred_terms = the variance term minus its mean over the
/// block; both are 0 for rows that do not count and past the block's rows. Weights become 0 there too.
LearningTerms learning_terms(const Block& block, const std::uint8_t* keep, const TermOptions& options, double* weights,
                             double* term_gradients, double* centred_terms) noexcept;

/// What the sums over all rows make of a row's terms in the gradient of the objective.
struct RowFactors {
  bool ratio = false;  ///< the risk is Σ w y / Σ w; otherwise Σ transform(w) y
  double risk = 0;
  double mean_loss = 0, shift = 0;  ///< of a ratio: the risk is mean_loss + shift
  double variance = 0;
  double moved = 0;           ///< the mean of the block's variance terms, less that of all
  double weight_cap = 1e100;  ///< as in TermOptions
};

/// out[i] = risk f + variance (centred_terms[i] + moved) term_gradients[i], the factor of ∂ log π in the gradient,
/// where f = term_gradients[i], and w (y − mean_loss − shift) for a ratio; from what learning_terms wrote. 0 for rows
/// that do not count and where the weight is held at weight_cap; written up to whole vectors.
void row_coefficients(const Block& block, const RowFactors& factors, const double* weights,
                      const double* term_gradients, const double* centred_terms, double* out) noexcept;

/// Terms of the additive estimator. `score_gradients` (K columns ∂ log π_k / ∂ s_k) becomes the coefficients of the
/// risk's gradient, (y − ȳ) w_k (1 − α w_k) ∂ log π_k / ∂ s_k, and `variance_coefficients` those of the variance's, the
/// same times (t − mean t), where t = (y − ȳ) Σ_k (w_k − 1), w_k = π_k / (p_k + α π_k). `risk` and `variance` are the
/// moments of t; there is no weight.
LearningTerms additive_terms(const Block& block, const std::uint8_t* keep, const double* label_probability,
                             double alpha, double mean_loss, double* score_gradients,
                             double* variance_coefficients) noexcept;

/// risk_coefficients[k][i] = term_gradients[i] score_gradients[k][i], variance_coefficients[k][i] = centred_terms[i]
/// risk_coefficients[k][i]: coefficients of the gradients of risk and variance, from the K columns ∂ log π / ∂ score_k.
/// risk_coefficients may be the same array as score_gradients.
void gradient_coefficients(const double* term_gradients, const double* centred_terms, const double* score_gradients,
                           int columns, double* risk_coefficients, double* variance_coefficients) noexcept;

}  // namespace scrm
