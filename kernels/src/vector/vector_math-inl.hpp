/// exp, log and cos on vectors with their edges: included once per instruction set by the kernels that need them.
#if defined(SCRM_VECTOR_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SCRM_VECTOR_MATH_INL_HPP
#undef SCRM_VECTOR_MATH_INL_HPP
#else
#define SCRM_VECTOR_MATH_INL_HPP
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#include "vector/negligible.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

HWY_INLINE V64 load_column(F64 d, const double* p) {
  return hn::Load(d, p);
}
HWY_INLINE V64 load_column(F64 d, const float* p) {
  return hn::PromoteTo(d, hn::Load(hn::Rebind<float, F64>(), p));
}

// NaN stays what it is.
HWY_INLINE V64 zero_if_negligible(F64 d, V64 v) {
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(v), hn::Set(d, kNegligible)), v);
}

// exp_bounded is for arguments up to this size; results beyond are near the ends of the doubles, and rare.
constexpr double kVectorExpLimit = 700.0;

// exp(x) for |x| ≤ 700, within an ulp: e^x = 2^n e^r with n an integer and |r| ≤ ln 2 / 2. Its results are ordinary
// doubles, so that 2^n is one addition to the exponent bits; that, and no care for the ends of the range, makes it
// faster than a general exponential, and half of a pass over many policies is spent here. In two halves, for loops that
// would otherwise be one long chain.
struct ReducedExp {
  V64 r;
  V64 n_bits;  // n in the low bits
};

HWY_INLINE ReducedExp reduce_exp(F64 d, V64 x) {
  // Adding 1.5·2^52 leaves the nearest integer in the low bits of the sum.
  const V64 magic = hn::Set(d, 6755399441055744.0);
  const V64 shifted = hn::MulAdd(x, hn::Set(d, 1.4426950408889634074), magic);
  const V64 n = hn::Sub(shifted, magic);
  // ln 2 in two parts, the first short enough that n times it is exact even without fused operations.
  const V64 high = hn::NegMulAdd(n, hn::Set(d, 0x1.62e42fee00000p-1), x);
  return {hn::NegMulAdd(n, hn::Set(d, 0x1.a39ef35793c76p-33), high), shifted};
}

// e^r = 1 + r + r² q(r); q interpolates at ten Chebyshev nodes, 0.15 ulp off at most.
constexpr double kExpTail[] = {
    0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d63p-5,  0x1.11111111109b3p-7,  0x1.6c16c1788bd90p-10,
    0x1.a01a01a7c41d5p-13, 0x1.a019b90d2ae7ap-16, 0x1.71de0dae63bb3p-19, 0x1.289185613a3d6p-22, 0x1.af38a9b0ec855p-26};

// 2^n times a number, n from the low bits that adding 1.5·2^52 leaves.
HWY_INLINE V64 scale_by_bits(F64 d, V64 power, V64 n_bits) {
  const hn::RebindToSigned<F64> di;
  return hn::BitCast(d, hn::Add(hn::BitCast(di, power), hn::ShiftLeft<52>(hn::BitCast(di, n_bits))));
}

HWY_INLINE V64 finish_exp(F64 d, ReducedExp x) {
  // Pairs of terms are combined side by side, since a chain of ten operations would wait for each of them.
  const V64 r = x.r;
  const V64 r2 = hn::Mul(r, r);
  const V64 r4 = hn::Mul(r2, r2);
  const auto pair = [d, r](int k)
                        HWY_ATTR { return hn::MulAdd(r, hn::Set(d, kExpTail[k + 1]), hn::Set(d, kExpTail[k])); };
  const V64 low = hn::MulAdd(pair(2), r2, pair(0));
  const V64 high = hn::MulAdd(pair(8), r4, hn::MulAdd(pair(6), r2, pair(4)));
  const V64 q = hn::MulAdd(high, r4, low);
  return scale_by_bits(d, hn::Add(hn::Set(d, 1.0), hn::MulAdd(q, r2, r)), x.n_bits);
}

HWY_INLINE V64 exp_bounded(F64 d, V64 x) {
  return finish_exp(d, reduce_exp(d, x));
}

HWY_INLINE V64 exp_unbounded(F64 d, V64 x) {
  const auto extreme = hn::Gt(hn::Abs(x), hn::Set(d, kVectorExpLimit));
  if (HWY_LIKELY(hn::AllFalse(d, extreme))) return exp_bounded(d, x);
  // Only the extreme lanes go another way: what an element gets must not depend on its neighbours.
  HWY_ALIGN double lanes[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double results[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, lanes);
  hn::Store(exp_bounded(d, hn::IfThenZeroElse(extreme, x)), d, results);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (std::abs(lanes[i]) > kVectorExpLimit) results[i] = std::exp(lanes[i]);
  }
  return hn::Load(d, results);
}

// Highway's Log is defined for positive arguments only.
HWY_INLINE V64 log_nonnegative(F64 d, V64 x) {
  const auto zero = hn::Eq(x, hn::Zero(d));
  return hn::IfThenElse(zero, hn::Set(d, -HUGE_VAL), hn::Log(d, x));
}

// Highway's Cos reduces its argument by π in a few parts, which is exact enough up to 39,000.
constexpr double kVectorCosLimit = 30000.0;

HWY_INLINE V64 cos_unbounded(F64 d, V64 x) {
  const auto bounded = hn::Le(hn::Abs(x), hn::Set(d, kVectorCosLimit));
  if (HWY_LIKELY(hn::AllTrue(d, bounded))) return hn::Cos(d, x);
  // Only the other lanes, and what is no number, go another way: what an element gets must not depend on its
  // neighbours.
  HWY_ALIGN double lanes[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double results[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, lanes);
  hn::Store(hn::Cos(d, hn::IfThenElseZero(bounded, x)), d, results);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (!(std::abs(lanes[i]) <= kVectorCosLimit)) results[i] = std::cos(lanes[i]);
  }
  return hn::Load(d, results);
}

// log N(x; mean, scale²) of z = (x − mean) / scale, with the scale-only part from log_normal_norm(scale).
HWY_INLINE V64 log_normal_density(F64 d, V64 z, V64 log_norm) {
  return hn::NegMulAdd(hn::Mul(z, hn::Set(d, 0.5)), z, log_norm);
}

HWY_INLINE V64 log_normal_density(F64 d, V64 x, V64 mean, V64 inverse_scale, V64 log_norm) {
  return log_normal_density(d, hn::Mul(hn::Sub(x, mean), inverse_scale), log_norm);
}

inline double log_normal_norm(double scale) {
  constexpr double kLogSqrtTwoPi = 0.91893853320467274178;
  return -std::log(scale) - kLogSqrtTwoPi;
}

// One vector of weights from log π and the aligned propensities, or log-propensities, of its rows.
template <bool kLogPropensity>
HWY_INLINE V64 weight(F64 d, V64 log_density, const double* propensity) {
  const V64 p = hn::LoadU(d, propensity);
  if constexpr (kLogPropensity) return exp_unbounded(d, hn::Sub(log_density, p));
  const auto extreme = hn::Gt(hn::Abs(log_density), hn::Set(d, kVectorExpLimit));
  if (HWY_LIKELY(hn::AllFalse(d, extreme))) return hn::Div(exp_bounded(d, log_density), p);
  // Only the extreme rows go another way: what a row gets must not depend on its neighbours.
  HWY_ALIGN double logs[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double results[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(log_density, d, logs);
  hn::Store(hn::Div(exp_bounded(d, hn::IfThenZeroElse(extreme, log_density)), p), d, results);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (std::abs(logs[i]) > kVectorExpLimit) results[i] = std::exp(logs[i] - std::log(propensity[i]));
  }
  return hn::Load(d, results);
}

// The value where the bit is set, minus it where it is not: 2·bit − 1 is +1 or −1, and multiplying by it is exact.
HWY_INLINE V64 apply_bit_sign(F64 d, const std::uint8_t* bits, V64 value) {
  const hn::Rebind<std::uint8_t, F64> d8;
  const hn::Rebind<std::int32_t, F64> d32;
  const V64 bit = hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d8, bits)));
  return hn::Mul(hn::MulSub(bit, hn::Set(d, 2.0), hn::Set(d, 1.0)), value);
}

// e^{−|t|}, from which σ(t), σ(−t) and log σ(t) all follow without overflow.
struct Logistic {
  V64 t, small, denominator;
  HWY_INLINE Logistic(F64 d, V64 score)
      : t(score), small(hn::Exp(d, hn::Neg(hn::Abs(score)))), denominator(hn::Add(hn::Set(d, 1.0), small)) {}

  HWY_INLINE V64 sigma(F64 d) const {
    return hn::Div(hn::IfThenElse(hn::Lt(t, hn::Zero(d)), small, hn::Set(d, 1.0)), denominator);
  }
  HWY_INLINE V64 sigma_of_minus(F64 d) const {
    return hn::Div(hn::IfThenElse(hn::Lt(t, hn::Zero(d)), hn::Set(d, 1.0), small), denominator);
  }
  HWY_INLINE V64 log_sigma(F64 d) const { return hn::Sub(hn::Min(t, hn::Zero(d)), hn::Log1p(d, small)); }
};

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
