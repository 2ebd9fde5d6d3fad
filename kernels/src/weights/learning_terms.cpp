#include "scrm/kernels/weights/learning_terms.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/learning_terms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "scrm/kernels/scores/context_matrix.hpp"
#include "weights/weight_transform-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
// Rows that do not count may hold anything.
HWY_INLINE TransformedWeight given_weight(F64 d, M64 mask, V64 w, const TermOptions& options, int i) {
  const M64 free = hn::And(mask, hn::Lt(w, hn::Set(d, options.weight_cap)));
  return {hn::IfThenElseZero(mask, hn::Load(d, options.transformed + i)),
          hn::IfThenElseZero(free, hn::Load(d, options.transform_slopes + i))};
}

// Two loops over columns that stay in L1: sums first, then squares around the means.
LearningTerms learning_terms_impl(const Block& block, const std::uint8_t* keep, const TermOptions& options,
                                  double* weights, double* term_gradients, double* centred_terms) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V64 control = hn::Set(d, options.control_variate), limit = hn::Set(d, options.weight_cap);
  const V64 baseline = hn::Set(d, options.baseline);
  const int rows = round_up_to_vectors(block.rows);
  for (double* column : {weights, term_gradients, centred_terms}) std::fill(column + rows, column + kBlockRows, 0.0);
  V64 count = hn::Zero(d), risk = hn::Zero(d), variance = hn::Zero(d), weight = hn::Zero(d);
  for (int i = 0; i < rows; i += lanes) {
    const M64 mask = included_mask(d, keep, i, block.rows);
    const V64 w = hn::IfThenElseZero(mask, hn::Min(hn::Load(d, weights + i), limit));
    const V64 y = hn::IfThenElseZero(mask, hn::Sub(hn::LoadU(d, block.loss + i), baseline));
    const TransformedWeight transformed = options.transform == WeightTransform::given
                                              ? given_weight(d, mask, w, options, i)
                                              : transform_weight(d, w, options);
    const V64 term = hn::Mul(hn::Sub(transformed.value, control), y);
    count = hn::Add(count, hn::IfThenElseZero(mask, hn::Set(d, 1.0)));
    risk = hn::MulAdd(transformed.value, y, risk);
    variance = hn::Add(variance, term);
    weight = hn::Add(weight, w);
    hn::Store(w, d, weights + i);
    hn::Store(hn::Mul(transformed.gradient, y), d, term_gradients + i);
    hn::Store(term, d, centred_terms + i);
  }
  LearningTerms out;
  const double n = total(d, count);
  if (n == 0) return out;
  out.risk.count = out.variance.count = out.weight.count = n;
  out.risk.mean = total(d, risk) / n;
  out.variance.mean = total(d, variance) / n;
  out.weight.mean = total(d, weight) / n;
  const V64 mean = hn::Set(d, out.variance.mean), mean_weight = hn::Set(d, out.weight.mean);
  V64 squares = hn::Zero(d), weight_squares = hn::Zero(d);
  for (int i = 0; i < rows; i += lanes) {
    const M64 mask = included_mask(d, keep, i, block.rows);
    const V64 centred = hn::IfThenElseZero(mask, hn::Sub(hn::Load(d, centred_terms + i), mean));
    const V64 dw = hn::IfThenElseZero(mask, hn::Sub(hn::Load(d, weights + i), mean_weight));
    squares = hn::MulAdd(centred, centred, squares);
    weight_squares = hn::MulAdd(dw, dw, weight_squares);
    hn::Store(centred, d, centred_terms + i);
  }
  out.variance.square_sum = total(d, squares);
  out.weight.square_sum = total(d, weight_squares);
  return out;
}

LearningTerms additive_terms_impl(const Block& block, const std::uint8_t* keep, const double* target, double alpha,
                                  double mean_loss, double* score_gradients, double* variance_coefficients) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V64 one = hn::Set(d, 1.0), a = hn::Set(d, alpha);
  alignas(kColumnAlignment) double terms[kBlockRows];
  V64 count = hn::Zero(d), sum = hn::Zero(d);
  for (int i = 0; i < kBlockRows; i += lanes) {
    const M64 mask = included_mask(d, keep, i, block.rows);
    const V64 y = hn::IfThenElseZero(mask, hn::Sub(hn::LoadU(d, block.loss + i), hn::Set(d, mean_loss)));
    V64 excess = hn::Zero(d);
    for (int k = 0; k < block.num_actions; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
      const V64 pi = hn::Load(d, target + at);
      // Rows that do not count may hold anything, a propensity of zero too.
      const V64 p = hn::IfThenElse(mask, hn::Load(d, block.label_propensity + at), one);
      const V64 inverse = hn::Div(one, hn::MulAdd(a, pi, p));
      const V64 w = hn::Mul(pi, inverse);
      excess = hn::Add(excess, hn::Sub(w, one));
      // w_k (1 − α w_k) = w_k p_k / (p_k + α π_k).
      const V64 gradient = hn::Mul(hn::Mul(w, hn::Mul(p, inverse)), hn::Load(d, score_gradients + at));
      hn::Store(zero_if_negligible(d, hn::IfThenElseZero(mask, hn::Mul(y, gradient))), d, score_gradients + at);
    }
    const V64 term = hn::Mul(y, excess);
    count = hn::Add(count, hn::IfThenElseZero(mask, one));
    sum = hn::Add(sum, term);
    hn::Store(term, d, terms + i);
  }
  LearningTerms out;
  const double n = total(d, count);
  const double mean = n > 0 ? total(d, sum) / n : 0;
  V64 squares = hn::Zero(d);
  for (int i = 0; i < kBlockRows; i += lanes) {
    const M64 mask = included_mask(d, keep, i, block.rows);
    const V64 centred = hn::IfThenElseZero(mask, hn::Sub(hn::Load(d, terms + i), hn::Set(d, mean)));
    squares = hn::MulAdd(centred, centred, squares);
    for (int k = 0; k < block.num_actions; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
      hn::Store(hn::Mul(centred, hn::Load(d, score_gradients + at)), d, variance_coefficients + at);
    }
  }
  if (n == 0) return out;
  out.risk.count = out.variance.count = n;
  out.risk.mean = out.variance.mean = mean;
  out.risk.square_sum = out.variance.square_sum = total(d, squares);
  return out;
}

void row_coefficients_impl(const Block& block, const RowFactors& factors, const double* weights,
                           const double* term_gradients, const double* centred_terms, double* out) {
  const F64 d;
  const V64 risk_factor = hn::Set(d, factors.risk), variance_factor = hn::Set(d, factors.variance);
  const V64 mean_loss = hn::Set(d, factors.mean_loss), shift = hn::Set(d, factors.shift);
  const V64 moved = hn::Set(d, factors.moved), limit = hn::Set(d, factors.weight_cap);
  for (int i = 0; i < round_up_to_vectors(block.rows); i += static_cast<int>(hn::Lanes(d))) {
    const V64 w = hn::Load(d, weights + i), slope = hn::Load(d, term_gradients + i);
    V64 risk = slope;
    if (factors.ratio) risk = hn::Mul(w, hn::Sub(hn::Sub(hn::LoadU(d, block.loss + i), mean_loss), shift));
    const V64 variance = hn::Mul(hn::Mul(variance_factor, hn::Add(hn::Load(d, centred_terms + i), moved)), slope);
    // Rows that do not count may hold a loss that is no number.
    const V64 both = hn::Add(hn::Mul(risk_factor, risk), variance);
    hn::Store(hn::IfThenElseZero(hn::And(hn::Ne(w, hn::Zero(d)), hn::Lt(w, limit)), both), d, out + i);
  }
}

void gradient_coefficients_impl(const double* term_gradients, const double* centred_terms,
                                const double* score_gradients, int columns, double* risk_coefficients,
                                double* variance_coefficients) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    const V64 a = hn::Load(d, term_gradients + i), b = hn::Load(d, centred_terms + i);
    for (int k = 0; k < columns; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(k) * kBlockRows + i;
      // Rows whose term gradient is 0 may have a derivative that is not a number.
      const V64 product = hn::IfThenElseZero(hn::Ne(a, hn::Zero(d)), hn::Mul(a, hn::Load(d, score_gradients + at)));
      hn::Store(zero_if_negligible(d, product), d, risk_coefficients + at);
      hn::Store(zero_if_negligible(d, hn::Mul(b, product)), d, variance_coefficients + at);
    }
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(learning_terms_impl);
HWY_EXPORT(additive_terms_impl);
HWY_EXPORT(row_coefficients_impl);
HWY_EXPORT(gradient_coefficients_impl);

LearningTerms learning_terms(const Block& block, const std::uint8_t* keep, const TermOptions& options, double* weights,
                             double* term_gradients, double* centred_terms) noexcept {
  assert(is_logged_block(block));
  assert(is_column(weights) && is_column(term_gradients) && is_column(centred_terms));
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(learning_terms_impl)(block, keep, options, weights, term_gradients, centred_terms);
}

LearningTerms additive_terms(const Block& block, const std::uint8_t* keep, const double* label_probability,
                             double alpha, double mean_loss, double* score_gradients,
                             double* variance_coefficients) noexcept {
  assert(is_logged_block(block) && is_column(block.label_propensity));
  assert(is_column(label_probability) && alpha >= 0);
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(additive_terms_impl)(block, keep, label_probability, alpha, mean_loss, score_gradients,
                                                   variance_coefficients);
}

void row_coefficients(const Block& block, const RowFactors& factors, const double* weights,
                      const double* term_gradients, const double* centred_terms, double* out) noexcept {
  assert(is_logged_block(block) && is_column(weights) && is_column(term_gradients) && is_column(centred_terms));
  assert(is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(row_coefficients_impl)(block, factors, weights, term_gradients, centred_terms, out);
}

void gradient_coefficients(const double* term_gradients, const double* centred_terms, const double* score_gradients,
                           int columns, double* risk_coefficients, double* variance_coefficients) noexcept {
  assert(is_column(term_gradients) && is_column(centred_terms) && is_column(score_gradients) && columns >= 1);
  assert(is_column(risk_coefficients) && is_column(variance_coefficients));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(gradient_coefficients_impl)
  (term_gradients, centred_terms, score_gradients, columns, risk_coefficients, variance_coefficients);
}

}  // namespace scrm
#endif
