/// Which rows are included and how their weights enter an objective: included once per instruction set by the learning
/// kernels.
#if defined(SCRM_WEIGHT_TRANSFORM_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SCRM_WEIGHT_TRANSFORM_INL_HPP
#undef SCRM_WEIGHT_TRANSFORM_INL_HPP
#else
#define SCRM_WEIGHT_TRANSFORM_INL_HPP
#endif

#include <hwy/highway.h>

#include "scrm/kernels/weights/learning_terms.hpp"
#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

using M64 = hn::Mask<F64>;

HWY_INLINE double total(F64 d, V64 v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

/// The lanes of rows i, i + 1, … that are inside the block and kept.
HWY_INLINE M64 included_mask(F64 d, const std::uint8_t* keep, int i, int rows) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  const M64 inside = hn::FirstN(d, static_cast<std::size_t>(rows - i < lanes ? (rows > i ? rows - i : 0) : lanes));
  if (keep == nullptr) return inside;
  const hn::Rebind<std::uint8_t, F64> d8;
  const hn::Rebind<std::int32_t, F64> d32;
  const V64 kept = hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d8, keep + i)));
  return hn::And(inside, hn::Gt(kept, hn::Zero(d)));
}

/// transform(w), and its derivative by log w.
struct TransformedWeight {
  V64 value, gradient;
};

HWY_INLINE TransformedWeight transform_weight(F64 d, V64 w, const TermOptions& options) {
  const V64 limit = hn::Set(d, options.weight_cap);
  const M64 free = hn::Lt(w, limit);
  const V64 held = hn::Min(w, limit);
  switch (options.transform) {
    case WeightTransform::clip: {
      const V64 most = hn::Set(d, options.parameter);
      return {hn::Min(held, most), hn::IfThenElseZero(hn::And(free, hn::Lt(w, most)), held)};
    }
    case WeightTransform::ix: {
      const V64 alpha = hn::Set(d, options.parameter), one = hn::Set(d, 1.0);
      const V64 inverse = hn::Div(one, hn::MulAdd(alpha, held, one));
      const V64 value = hn::Mul(held, inverse);
      // w_ix (1 − α w_ix) = w_ix / (1 + α w): no cancellation for large w.
      return {value, hn::IfThenElseZero(free, hn::Mul(value, inverse))};
    }
    case WeightTransform::none:
    case WeightTransform::given:  // learning_terms reads its columns itself
      break;
  }
  return {held, hn::IfThenElseZero(free, held)};
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
