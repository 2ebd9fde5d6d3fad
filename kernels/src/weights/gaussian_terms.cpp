#include "scrm/kernels/weights/gaussian_terms.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/gaussian_terms.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weights/gaussian_tiles-inl.hpp"
#include "weights/weight_transform-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

constexpr int kMaxLanes = HWY_MAX_BYTES / sizeof(double);

// Sums over a block. Variance terms and weights are taken around values near their means, so that their squares lose
// nothing when the means themselves are known.
struct ObjectiveSums {
  V64 count, risk, variance, squares, weight, weight_squares, first, second;
};

struct Centres {
  bool known = false;
  double variance = 0, weight = 0;
};

// What one row of a tile contributes.
struct RowTerms {
  V64 weight, transformed, variance, gradient, loss;
};

template <bool kEveryRow>
HWY_INLINE RowTerms row_terms(F64 d, M64 mask, const double* weights, const double* loss, const TermOptions& options) {
  V64 w = hn::Min(hn::Load(d, weights), hn::Set(d, options.weight_cap));
  V64 y = hn::Sub(hn::LoadU(d, loss), hn::Set(d, options.baseline));
  if constexpr (!kEveryRow) {
    w = hn::IfThenElseZero(mask, w);
    y = hn::IfThenElseZero(mask, y);
  }
  const TransformedWeight transformed = transform_weight(d, w, options);
  return {w, transformed.value, hn::Mul(hn::Sub(transformed.value, hn::Set(d, options.control_variate)), y),
          hn::Mul(transformed.gradient, y), y};
}

// Means over the first tile that has rows which count: near those of the block.
template <bool kEveryRow>
HWY_NOINLINE void find_centres(const Block& block, const std::uint8_t* keep, int first, const double* weights,
                               const TermOptions& options, Centres& centres) {
  const F64 d;
  V64 count = hn::Zero(d), variance = hn::Zero(d), weight = hn::Zero(d);
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    const M64 mask = included_mask(d, keep, first + i, block.rows);
    const RowTerms row = row_terms<kEveryRow>(d, mask, weights + i, block.loss + first + i, options);
    count = hn::Add(count, hn::IfThenElseZero(mask, hn::Set(d, 1.0)));
    variance = hn::Add(variance, row.variance);
    weight = hn::Add(weight, row.weight);
  }
  const double n = total(d, count);
  if (n > 0) centres = {true, total(d, variance) / n, total(d, weight) / n};
}

// Adds a tile's terms to the sums, and writes its coefficients of both gradients.
template <bool kEveryRow>
HWY_INLINE void add_terms(const Block& block, const std::uint8_t* keep, int first, const Tile& tile,
                          const double* weights, const TermOptions& options, const Centres& centres,
                          ObjectiveSums& sums, double* coefficients) {
  const F64 d;
  const V64 variance_centre = hn::Set(d, centres.variance), weight_centre = hn::Set(d, centres.weight);
  const V64 precision = hn::Set(d, tile.inverse_scale * tile.inverse_scale);
  ObjectiveSums s = sums;
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    const M64 mask = included_mask(d, keep, first + i, block.rows);
    const RowTerms row = row_terms<kEveryRow>(d, mask, weights + i, block.loss + first + i, options);
    V64 centred = hn::Sub(row.variance, variance_centre), dw = hn::Sub(row.weight, weight_centre);
    if constexpr (!kEveryRow) {
      centred = hn::IfThenElseZero(mask, centred);
      dw = hn::IfThenElseZero(mask, dw);
      s.count = hn::Add(s.count, hn::IfThenElseZero(mask, hn::Set(d, 1.0)));
    }
    s.risk = hn::MulAdd(row.transformed, row.loss, s.risk);
    s.variance = hn::Add(s.variance, centred);
    s.squares = hn::MulAdd(centred, centred, s.squares);
    s.weight = hn::Add(s.weight, dw);
    s.weight_squares = hn::MulAdd(dw, dw, s.weight_squares);
    const V64 derivative = hn::Mul(hn::Sub(hn::LoadU(d, tile.action + i), hn::Load(d, tile.mean + i)), precision);
    // Rows whose gradient is 0 may have a derivative that is not a number.
    const V64 coefficient = hn::IfThenElseZero(hn::Ne(row.gradient, hn::Zero(d)), hn::Mul(row.gradient, derivative));
    const V64 second = hn::Mul(centred, coefficient);
    s.first = hn::Add(s.first, coefficient);
    s.second = hn::Add(s.second, second);
    hn::Store(coefficient, d, coefficients + i);
    hn::Store(second, d, coefficients + kTileRows + i);
  }
  sums = s;
}

// Adds the products of kFeatures columns with both columns of coefficients to `sums`, two vectors for each feature.
template <int kFeatures, class T>
HWY_INLINE void add_products(const T* context, const double* coefficients, double* sums) {
  const F64 d;
  const std::size_t lanes = hn::Lanes(d);
  V64 first[kFeatures], second[kFeatures];
  for (std::size_t j = 0; j < kFeatures; ++j) {
    first[j] = hn::Load(d, sums + 2 * j * lanes);
    second[j] = hn::Load(d, sums + (2 * j + 1) * lanes);
  }
  for (int i = 0; i < kTileRows; i += static_cast<int>(lanes)) {
    const V64 a = hn::Load(d, coefficients + i), b = hn::Load(d, coefficients + kTileRows + i);
    for (int j = 0; j < kFeatures; ++j) {
      const V64 x = load_column(d, context + j * kBlockRows + i);
      first[j] = hn::MulAdd(x, a, first[j]);
      second[j] = hn::MulAdd(x, b, second[j]);
    }
  }
  for (std::size_t j = 0; j < kFeatures; ++j) {
    hn::Store(first[j], d, sums + 2 * j * lanes);
    hn::Store(second[j], d, sums + (2 * j + 1) * lanes);
  }
}

// Ten sums at a time: enough that additions never wait for each other, few enough for sixteen registers.
template <class T>
HWY_NOINLINE void add_all_products(const T* context, std::int64_t features, const double* coefficients, double* sums) {
  const std::size_t pair = 2 * hn::Lanes(F64());
  std::int64_t j = 0;
  const auto at = [&] { return sums + static_cast<std::size_t>(j) * pair; };
  for (; j + 5 <= features; j += 5) add_products<5>(context + j * kBlockRows, coefficients, at());
  switch (features - j) {
    case 4:
      return add_products<4>(context + j * kBlockRows, coefficients, at());
    case 3:
      return add_products<3>(context + j * kBlockRows, coefficients, at());
    case 2:
      return add_products<2>(context + j * kBlockRows, coefficients, at());
    case 1:
      return add_products<1>(context + j * kBlockRows, coefficients, at());
    default:
      return;
  }
}

// Moments from sums around a centre.
HWY_INLINE Moments moments_around(double centre, double n, double sum, double squares) {
  Moments out;
  out.count = n;
  out.mean = centre + sum / n;
  out.square_sum = squares - sum * (sum / n);
  if (out.square_sum < 0) out.square_sum = 0;
  return out;
}

template <bool kLogPropensity, bool kEveryRow, class T>
HWY_INLINE LearningTerms fused_terms(const Block& block, const T* context, const std::uint8_t* keep,
                                     const LinearGaussian& policy, const TermOptions& options, double* risk_gradient,
                                     double* variance_gradient) {
  const F64 d;
  const std::size_t lanes = hn::Lanes(d);
  const double* propensity = kLogPropensity ? block.log_propensity : block.propensity;
  alignas(kColumnAlignment) double mean[kTileRows], weights[kTileRows], coefficients[2 * kTileRows];
  alignas(kColumnAlignment) double products[2 * kMaxGaussianTermsFeatures * kMaxLanes];
  for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(block.features) * lanes; ++i) products[i] = 0;
  Tile tile{nullptr, nullptr, mean, 1.0 / policy.scale, log_normal_norm(policy.scale)};
  const V64 zero = hn::Zero(d);
  ObjectiveSums sums{zero, zero, zero, zero, zero, zero, zero, zero};
  Centres centres;
  const int tiled = (block.rows + kTileRows - 1) / kTileRows * kTileRows;
  for (int first = 0; first < tiled; first += kTileRows) {
    const int then = first + kTileRows;
    NextRows<T> next{context + then, block.action + then, propensity + then, block.loss + then, block.features};
    if (then == tiled) next.action = nullptr;
    tile.action = block.action + first;
    tile.propensity = propensity + first;
    tile_means<1>(context + first, block.features, &policy, mean);
    tile_weights<kLogPropensity, false>(tile, next, weights);
    if (!centres.known) find_centres<kEveryRow>(block, keep, first, weights, options, centres);
    add_terms<kEveryRow>(block, keep, first, tile, weights, options, centres, sums, coefficients);
    add_all_products(context + first, block.features, coefficients, products);
  }
  const double n = kEveryRow ? kBlockRows : total(d, sums.count);
  LearningTerms out;
  // Around the block's own mean: what the centre was off is taken back.
  const double off = n > 0 ? total(d, sums.variance) / n : 0;
  risk_gradient[0] = total(d, sums.first);
  variance_gradient[0] = total(d, sums.second) - off * risk_gradient[0];
  for (std::int64_t j = 0; j < block.features; ++j) {
    const double* both = products + 2 * static_cast<std::size_t>(j) * lanes;
    risk_gradient[1 + j] = total(d, hn::Load(d, both));
    variance_gradient[1 + j] = total(d, hn::Load(d, both + lanes)) - off * risk_gradient[1 + j];
  }
  if (n == 0) return out;
  out.risk.count = n;
  out.risk.mean = total(d, sums.risk) / n;
  out.variance = moments_around(centres.variance, n, total(d, sums.variance), total(d, sums.squares));
  out.weight = moments_around(centres.weight, n, total(d, sums.weight), total(d, sums.weight_squares));
  return out;
}

template <bool kLogPropensity, class T>
HWY_INLINE LearningTerms fused_terms_by_mask(const Block& block, const T* context, const std::uint8_t* keep,
                                             const LinearGaussian& policy, const TermOptions& options,
                                             double* risk_gradient, double* variance_gradient) {
  if (keep == nullptr && block.rows == kBlockRows) {
    return fused_terms<kLogPropensity, true>(block, context, keep, policy, options, risk_gradient, variance_gradient);
  }
  return fused_terms<kLogPropensity, false>(block, context, keep, policy, options, risk_gradient, variance_gradient);
}

LearningTerms gaussian_terms_impl(const Block& block, const std::uint8_t* keep, const LinearGaussian& policy,
                                  const TermOptions& options, double* risk_gradient, double* variance_gradient) {
  const bool log_propensity = block.log_propensity != nullptr;
  if (block.context_type == FloatType::f32) {
    const auto* context = static_cast<const float*>(block.context);
    return log_propensity
               ? fused_terms_by_mask<true>(block, context, keep, policy, options, risk_gradient, variance_gradient)
               : fused_terms_by_mask<false>(block, context, keep, policy, options, risk_gradient, variance_gradient);
  }
  const auto* context = static_cast<const double*>(block.context);
  return log_propensity
             ? fused_terms_by_mask<true>(block, context, keep, policy, options, risk_gradient, variance_gradient)
             : fused_terms_by_mask<false>(block, context, keep, policy, options, risk_gradient, variance_gradient);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(gaussian_terms_impl);

LearningTerms gaussian_terms(const Block& block, const std::uint8_t* keep, const LinearGaussian& policy,
                             const TermOptions& options, double* risk_gradient, double* variance_gradient) noexcept {
  assert(is_logged_block(block) && has_valid_context(block) && has_propensity(block));
  assert(block.features >= 1 && block.features <= kMaxGaussianTermsFeatures && block.sparse.indptr == nullptr);
  assert(policy.theta != nullptr && policy.scale > 0);
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(gaussian_terms_impl)(block, keep, policy, options, risk_gradient, variance_gradient);
}

}  // namespace scrm
#endif
