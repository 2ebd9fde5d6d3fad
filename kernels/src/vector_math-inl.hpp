/// exp and log on vectors with their edges: included once per instruction set by the kernels that need them.
#if defined(SCRM_VECTOR_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SCRM_VECTOR_MATH_INL_HPP
#undef SCRM_VECTOR_MATH_INL_HPP
#else
#define SCRM_VECTOR_MATH_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

// Highway's Exp is not defined above 706; arguments up there are rare enough for the scalar library.
constexpr double kVectorExpLimit = 700.0;

HWY_INLINE V64 exp_any(F64 d, V64 x) {
  const auto high = hn::Gt(x, hn::Set(d, kVectorExpLimit));
  if (HWY_LIKELY(hn::AllFalse(d, high))) return hn::Exp(d, x);
  HWY_ALIGN double lanes[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double results[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, lanes);
  hn::Store(hn::Exp(d, hn::IfThenZeroElse(high, x)), d, results);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (lanes[i] > kVectorExpLimit) results[i] = std::exp(lanes[i]);
  }
  return hn::Load(d, results);
}

// Highway's Log is defined for positive arguments only.
HWY_INLINE V64 log_any(F64 d, V64 x) {
  const auto zero = hn::Eq(x, hn::Zero(d));
  return hn::IfThenElse(zero, hn::Set(d, -HUGE_VAL), hn::Log(d, x));
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
