/// Vector form of Moments: included once per instruction set by the kernels that sum.
#if defined(SCRM_SHIFTED_SUMS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SCRM_SHIFTED_SUMS_INL_HPP
#undef SCRM_SHIFTED_SUMS_INL_HPP
#else
#define SCRM_SHIFTED_SUMS_INL_HPP
#endif

#include <hwy/highway.h>

#include "scrm/kernels/weights/moments.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

/// Vector form of Moments, shifted by a value near the mean so that one loop is as accurate as two.
template <bool kRanges>
struct ShiftedSums {
  explicit HWY_INLINE ShiftedSums(F64 d, V64 centre)
      : shift(centre), sum(hn::Zero(d)), squares(hn::Zero(d)), lowest(centre), highest(centre) {}

  /// `kept(value, neutral)` is the neutral value in lanes that do not count.
  template <class Kept>
  HWY_INLINE void add(V64 value, Kept kept) {
    const F64 d;
    const V64 delta = kept(hn::Sub(value, shift), hn::Zero(d));
    sum = hn::Add(sum, delta);
    squares = hn::MulAdd(delta, delta, squares);
    if constexpr (kRanges) {
      const V64 inside = kept(value, shift);
      lowest = hn::Min(lowest, inside);
      highest = hn::Max(highest, inside);
    }
  }

  HWY_INLINE Moments moments(double count) const {
    const F64 d;
    const double total = hn::GetLane(hn::SumOfLanes(d, sum));
    const double squared = hn::GetLane(hn::SumOfLanes(d, squares));
    Moments out;
    out.count = count;
    out.mean = hn::GetLane(shift) + total / count;
    out.square_sum = squared - total * (total / count);
    if (out.square_sum < 0) out.square_sum = 0;  // by rounding alone
    if constexpr (kRanges) {
      out.lowest = hn::GetLane(hn::MinOfLanes(d, lowest));
      out.highest = hn::GetLane(hn::MaxOfLanes(d, highest));
    }
    return out;
  }

  V64 shift, sum, squares, lowest, highest;
};

struct KeepAll {
  HWY_INLINE V64 operator()(V64 value, V64) const { return value; }
};

/// Σ m, Σ m dy and Σ m dy² of a non-negative multiplier, as moments around the weighted mean.
HWY_INLINE SquareWeightedMoments square_weighted(double total, double first, double second, double centre) {
  SquareWeightedMoments out;
  if (!(total > 0)) return out;
  out.weight = total;
  out.mean = centre + first / total;
  out.square_sum = second - first * (first / total);
  if (out.square_sum < 0) out.square_sum = 0;  // by rounding alone
  return out;
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
