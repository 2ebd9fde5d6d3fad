#include "scrm/kernels/weights/weight_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/additive_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector/approximate_mean.hpp"
#include "weights/shifted_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
/// With `kLoss` the terms are y + (y − centre) S, without it (y − centre) S.
template <bool kLoss>
HWY_INLINE PairMoments additive_moments(const double* y, const double* excess, int n, double centre, double shift_u,
                                        double shift_s) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  ShiftedSums<true> u(d, hn::Set(d, shift_u)), s(d, hn::Set(d, shift_s));
  V64 products = hn::Zero(d);
  for (int i = 0; i < n; i += lanes) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n - i < lanes ? n - i : lanes));
    const V64 vy = hn::LoadU(d, y + i);
    const V64 vs = hn::Load(d, excess + i);
    const V64 vu =
        hn::IfThenElse(mask, hn::MulAdd(hn::Sub(vy, hn::Set(d, centre)), vs, kLoss ? vy : hn::Zero(d)), u.shift);
    const V64 kept = hn::IfThenElse(mask, vs, s.shift);
    products = hn::MulAdd(hn::Sub(vu, u.shift), hn::Sub(kept, s.shift), products);
    u.add(vu, KeepAll());
    s.add(kept, KeepAll());
  }
  const Moments a = u.moments(n);
  const Moments b = s.moments(n);
  const double cross = hn::GetLane(hn::SumOfLanes(d, products)) - (a.mean - shift_u) * (b.mean - shift_s) * n;
  return {a.count, a.mean, b.mean, a.square_sum, b.square_sum, cross, a.lowest, a.highest, b.lowest, b.highest};
}

PairMoments additive_impl(const double* y, const double* excess, int n, double centre, double shift_u, double shift_s) {
  return additive_moments<true>(y, excess, n, centre, shift_u, shift_s);
}

PairMoments additive_difference_impl(const double* y, const double* excess, int n, double centre, double shift_u,
                                     double shift_s) {
  return additive_moments<false>(y, excess, n, centre, shift_u, shift_s);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(additive_impl);
HWY_EXPORT(additive_difference_impl);

AdditiveSums additive_sums(const Block& block, const double* excess, double centre) noexcept {
  assert(is_logged_block(block) && is_column(excess));
  if (block.rows == 0) return {{}, centre};
  ensure_isa();
  const double* y = block.loss;
  const double shift_u = approximate_mean(block.rows, [&](int i) { return y[i] + (y[i] - centre) * excess[i]; });
  const double shift_s = approximate_mean(block.rows, [&](int i) { return excess[i]; });
  return {HWY_DYNAMIC_DISPATCH(additive_impl)(y, excess, block.rows, centre, shift_u, shift_s), centre};
}

AdditiveSums additive_difference_sums(const Block& block, const double* excess, double centre) noexcept {
  assert(is_logged_block(block) && is_column(excess));
  if (block.rows == 0) return {{}, centre};
  ensure_isa();
  const double* y = block.loss;
  const double shift_u = approximate_mean(block.rows, [&](int i) { return (y[i] - centre) * excess[i]; });
  const double shift_s = approximate_mean(block.rows, [&](int i) { return excess[i]; });
  return {HWY_DYNAMIC_DISPATCH(additive_difference_impl)(y, excess, block.rows, centre, shift_u, shift_s), centre};
}

void AdditiveSums::recentre(double to) noexcept {
  const double shift = centre - to;
  centre = to;
  if (shift == 0) return;
  pair.mean_a += shift * pair.mean_b;
  pair.aa += shift * (2 * pair.ab + shift * pair.bb);
  if (pair.aa < 0) pair.aa = 0;  // by rounding alone
  pair.ab += shift * pair.bb;
  pair.lowest_a += std::min(shift * pair.lowest_b, shift * pair.highest_b);
  pair.highest_a += std::max(shift * pair.lowest_b, shift * pair.highest_b);
}

void AdditiveSums::merge(AdditiveSums later) noexcept {
  if (pair.count == 0) {
    *this = later;
    return;
  }
  later.recentre(centre);
  pair.merge(later.pair);
}

}  // namespace scrm
#endif
