#include "scrm/kernels/weight_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weight_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shifts.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

/// Vector form of Moments, shifted by a value near the mean so that one sweep is as good as two.
struct ShiftedSums {
  explicit HWY_INLINE ShiftedSums(F64 d, double centre)
      : shift(hn::Set(d, centre)), sum(hn::Zero(d)), squares(hn::Zero(d)), lowest(shift), highest(shift) {}

  HWY_INLINE void add(V64 value) {
    const V64 delta = hn::Sub(value, shift);
    sum = hn::Add(sum, delta);
    squares = hn::MulAdd(delta, delta, squares);
    lowest = hn::Min(lowest, value);
    highest = hn::Max(highest, value);
  }

  HWY_INLINE Moments moments(F64 d, double count) const {
    const double total = hn::GetLane(hn::SumOfLanes(d, sum));
    const double squared = hn::GetLane(hn::SumOfLanes(d, squares));
    Moments out;
    out.count = count;
    out.mean = hn::GetLane(shift) + total / count;
    out.square_sum = squared - total * (total / count);
    if (out.square_sum < 0) out.square_sum = 0;  // by rounding alone
    out.lowest = hn::GetLane(hn::MinOfLanes(d, lowest));
    out.highest = hn::GetLane(hn::MaxOfLanes(d, highest));
    return out;
  }

  V64 shift, sum, squares, lowest, highest;
};

/// One loop, one load of w and of y a row, every sum at once. Ten independent accumulators hide the latency of
/// addition.
template <bool kClip>
HWY_INLINE void fused_sums(const double* w, const double* y, int n, const WeightRules& rules, const Shifts& shifts,
                           WeightSums& out) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  ShiftedSums weight(d, shifts.weight), ips(d, shifts.ips), clipped(d, shifts.clipped), ix(d, shifts.ix);
  const V64 one = hn::Set(d, 1.0), alpha = hn::Set(d, rules.alpha), clip = hn::Set(d, rules.clip);
  const V64 loss_shift = hn::Set(d, shifts.loss);
  V64 square_weight = hn::Zero(d), square_first = hn::Zero(d), square_second = hn::Zero(d);
  // `mask` keeps the padding of the last vector out: masked lanes count as values that change nothing.
  const auto step = [&](V64 vw, V64 vy, auto masked) HWY_ATTR {
    const V64 wy = hn::Mul(vw, vy);
    const V64 ixy = hn::Div(wy, hn::MulAdd(alpha, vw, one));
    const V64 ww = hn::Mul(vw, vw);
    const V64 dy = hn::Sub(vy, loss_shift);
    const V64 wwdy = hn::Mul(ww, dy);
    weight.add(masked(vw, weight.shift));
    ips.add(masked(wy, ips.shift));
    if constexpr (kClip) clipped.add(masked(hn::Mul(hn::Min(vw, clip), vy), clipped.shift));
    ix.add(masked(ixy, ix.shift));
    square_weight = hn::Add(square_weight, masked(ww, hn::Zero(d)));
    square_first = hn::Add(square_first, masked(wwdy, hn::Zero(d)));
    square_second = hn::Add(square_second, masked(hn::Mul(wwdy, dy), hn::Zero(d)));
  };
  int i = 0;
  for (; i + lanes <= n; i += lanes) {
    step(hn::Load(d, w + i), hn::Load(d, y + i), [](V64 value, V64) HWY_ATTR { return value; });
  }
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n - i));
    step(hn::Load(d, w + i), hn::Load(d, y + i),
         [&mask](V64 value, V64 neutral) HWY_ATTR { return hn::IfThenElse(mask, value, neutral); });
  }
  const double count = n;
  out.weight = weight.moments(d, count);
  out.ips = ips.moments(d, count);
  if constexpr (kClip) out.clipped = clipped.moments(d, count);
  out.ix = ix.moments(d, count);
  const double total = hn::GetLane(hn::SumOfLanes(d, square_weight));
  const double first = hn::GetLane(hn::SumOfLanes(d, square_first));
  const double second = hn::GetLane(hn::SumOfLanes(d, square_second));
  out.square = {};
  if (total > 0) {
    out.square.weight = total;
    out.square.mean = shifts.loss + first / total;
    out.square.square_sum = second - first * (first / total);
    if (out.square.square_sum < 0) out.square.square_sum = 0;
  }
}

void fused_sums_impl(const double* w, const double* y, int n, const WeightRules& rules, const Shifts& shifts,
                     WeightSums& out) {
  if (rules.clip > 0) {
    fused_sums<true>(w, y, n, rules, shifts, out);
  } else {
    fused_sums<false>(w, y, n, rules, shifts, out);
  }
}

// Index of the first weight above the threshold at or after `from`, or n.
int find_above_impl(const double* w, int n, int from, double threshold) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V64 limit = hn::Set(d, threshold);
  int i = from;
  for (; i < n && i % lanes != 0; ++i) {
    if (w[i] > threshold) return i;
  }
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto above = hn::Or(hn::Gt(hn::Load(d, w + i), limit), hn::Gt(hn::Load(d, w + i + lanes), limit));
    if (HWY_UNLIKELY(!hn::AllFalse(d, above))) break;
  }
  for (; i < n; ++i) {
    if (w[i] > threshold) return i;
  }
  return n;
}

Moments array_moments_impl(const double* values, int n, double shift) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  ShiftedSums sums(d, shift);
  int i = 0;
  for (; i + lanes <= n; i += lanes) sums.add(hn::LoadU(d, values + i));
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n - i));
    sums.add(hn::IfThenElse(mask, hn::LoadU(d, values + i), sums.shift));
  }
  return sums.moments(d, n);
}

PairMoments additive_impl(const double* y, const double* excess, int n, double shift_u, double shift_s) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  ShiftedSums u(d, shift_u), s(d, shift_s);
  V64 products = hn::Zero(d);
  for (int i = 0; i < n; i += lanes) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n - i < lanes ? n - i : lanes));
    const V64 vy = hn::Load(d, y + i);
    const V64 vs = hn::Load(d, excess + i);
    const V64 vu = hn::IfThenElse(mask, hn::MulAdd(vy, vs, vy), u.shift);
    const V64 kept = hn::IfThenElse(mask, vs, s.shift);
    products = hn::MulAdd(hn::Sub(vu, u.shift), hn::Sub(kept, s.shift), products);
    u.add(vu);
    s.add(kept);
  }
  const Moments a = u.moments(d, n);
  const Moments b = s.moments(d, n);
  const double cross = hn::GetLane(hn::SumOfLanes(d, products)) - (a.mean - shift_u) * (b.mean - shift_s) * n;
  return {a.count, a.mean, b.mean, a.square_sum, b.square_sum, cross, a.lowest, a.highest, b.lowest, b.highest};
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <functional>

#include "dispatch.hpp"

namespace scrm {
HWY_EXPORT(fused_sums_impl);
HWY_EXPORT(find_above_impl);
HWY_EXPORT(array_moments_impl);
HWY_EXPORT(additive_impl);

namespace {

// Weights between 2^-300 and 2^300 can be squared and multiplied by any sensible loss without leaving the doubles;
// others are summed in units of 2^exponent.
constexpr int kSafeExponent = 300;

int unit_exponent(double weight) noexcept {
  if (weight == 0 || !std::isfinite(weight)) return 0;
  const int exponent = std::ilogb(weight);
  return exponent > kSafeExponent || exponent < -kSafeExponent ? exponent : 0;
}

// Puts the row in its place; false when five others are at least as large.
bool insert(TopRows& top, const TopRows::Entry& entry) noexcept {
  int place = top.count;
  while (place > 0 && entry.weight > top.entries[static_cast<std::size_t>(place - 1)].weight) --place;
  if (place == TopRows::kSize) return false;
  if (top.count < TopRows::kSize) ++top.count;
  for (int i = top.count - 1; i > place; --i) {
    top.entries[static_cast<std::size_t>(i)] = top.entries[static_cast<std::size_t>(i - 1)];
  }
  top.entries[static_cast<std::size_t>(place)] = entry;
  return true;
}

TopRows find_top(const Block& block, const double* w) noexcept {
  TopRows top;
  int i = 0;
  for (; i < std::min(block.rows, TopRows::kSize); ++i) insert(top, {w[i], block.loss[i], block.first_row + i});
  while (i < block.rows) {
    i = HWY_DYNAMIC_DISPATCH(find_above_impl)(w, block.rows, i, top.entries[TopRows::kSize - 1].weight);
    if (i == block.rows) break;
    insert(top, {w[i], block.loss[i], block.first_row + i});
    ++i;
  }
  return top;
}

// Closes the gaps that the top rows leave, from the end of the block: order inside a block has no meaning.
int remove_top(const Block& block, const TopRows& top, double* w, double* y) noexcept {
  std::array<std::int64_t, TopRows::kSize> places;
  places.fill(-1);
  for (int t = 0; t < top.count; ++t) {
    places[static_cast<std::size_t>(t)] = top.entries[static_cast<std::size_t>(t)].row - block.first_row;
  }
  std::sort(places.begin(), places.end(), std::greater<>());
  int left = block.rows;
  for (int t = 0; t < top.count; ++t) {
    --left;
    w[places[static_cast<std::size_t>(t)]] = w[left];
    y[places[static_cast<std::size_t>(t)]] = y[left];
  }
  return left;
}

void run_fused(const double* w, const double* y, int n, const WeightRules& rules, WeightSums& out) noexcept {
  HWY_DYNAMIC_DISPATCH(fused_sums_impl)(w, y, n, rules, near_means(w, y, n, rules), out);
}

// Weights that cannot be squared as they are. What is bounded by 1/α or by M keeps its own unit when weights are huge.
void run_scaled(double* w, const double* y, int n, int exponent, const WeightRules& rules, WeightSums& out) noexcept {
  WeightSums bounded;
  if (exponent > 0) run_fused(w, y, n, rules, bounded);
  for (int i = 0; i < n; ++i) w[i] = std::ldexp(w[i], -exponent);
  const WeightRules scaled{std::ldexp(rules.alpha, exponent), std::ldexp(rules.clip, -exponent)};
  run_fused(w, y, n, scaled, out);
  out.weight.exponent = out.ips.exponent = out.square.exponent = exponent;
  if (exponent > 0) {
    out.ix = bounded.ix;
    out.clipped = bounded.clipped;
  } else {
    out.ix.exponent = out.clipped.exponent = exponent;
  }
}

// w y in a unit of its own where w is far from one.
Moments product(double weight, double loss) noexcept {
  const int exponent = unit_exponent(weight);
  return Moments::of(std::ldexp(weight, -exponent) * loss, exponent);
}

}  // namespace

void compute_weight_sums(const Block& block, double* weights, const WeightRules& rules, WeightSums& out) noexcept {
  ensure_isa();
  out = WeightSums{};
  out.top = find_top(block, weights);
  alignas(kColumnAlignment) double losses[kBlockRows];
  std::copy_n(block.loss, block.rows, losses);
  const int n = remove_top(block, out.top, weights, losses);
  if (n == 0) return;
  const int exponent = unit_exponent(out.top.entries[TopRows::kSize - 1].weight);
  if (exponent == 0) {
    run_fused(weights, losses, n, rules, out);
  } else {
    run_scaled(weights, losses, n, exponent, rules, out);
  }
}

void add_row(WeightSums& sums, double weight, double loss, const WeightRules& rules) noexcept {
  const int exponent = unit_exponent(weight);
  const double unit = std::ldexp(weight, -exponent);
  sums.weight.merge(Moments::of(unit, exponent));
  sums.ips.merge(product(weight, loss));
  // π/(p + απ) as 1/(1/w + α) when w is so large that α w could overflow.
  const double ix = weight > 1 ? 1 / (1 / weight + rules.alpha) : weight / (1 + rules.alpha * weight);
  sums.ix.merge(product(ix, loss));
  if (rules.clip > 0) sums.clipped.merge(product(std::min(weight, rules.clip), loss));
  if (weight > 0) sums.square.merge({unit * unit, loss, 0, exponent});
}

void merge_weight_sums(WeightSums& earlier, const WeightSums& later, const WeightRules& rules) noexcept {
  earlier.weight.merge(later.weight);
  earlier.ips.merge(later.ips);
  earlier.clipped.merge(later.clipped);
  earlier.ix.merge(later.ix);
  earlier.square.merge(later.square);
  // The five largest of the union stay; the others join the sums in descending order.
  TopRows top = earlier.top;
  std::array<TopRows::Entry, 2 * TopRows::kSize> dropped;
  int drops = 0;
  for (int t = 0; t < later.top.count; ++t) {
    const TopRows::Entry& entry = later.top.entries[static_cast<std::size_t>(t)];
    const bool full = top.count == TopRows::kSize;
    const TopRows::Entry last = top.entries[TopRows::kSize - 1];
    const bool inserted = insert(top, entry);
    if (full) dropped[static_cast<std::size_t>(drops++)] = inserted ? last : entry;
  }
  earlier.top = top;
  for (int i = 0; i < drops; ++i) {
    const TopRows::Entry& entry = dropped[static_cast<std::size_t>(i)];
    add_row(earlier, entry.weight, entry.loss, rules);
  }
}

Moments loss_moments(const Block& block) noexcept {
  if (block.rows == 0) return {};
  ensure_isa();
  const double shift = near_mean(block.rows, [&block](int i) { return block.loss[i]; });
  return HWY_DYNAMIC_DISPATCH(array_moments_impl)(block.loss, block.rows, shift);
}

PairMoments additive_moments(const Block& block, const double* excess) noexcept {
  if (block.rows == 0) return {};
  ensure_isa();
  const double shift_u = near_mean(block.rows, [&](int i) { return block.loss[i] * (1 + excess[i]); });
  const double shift_s = near_mean(block.rows, [&](int i) { return excess[i]; });
  return HWY_DYNAMIC_DISPATCH(additive_impl)(block.loss, excess, block.rows, shift_u, shift_s);
}

}  // namespace scrm
#endif
