#include "scrm/kernels/weights/weight_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/weight_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>

#include "scrm/kernels/weights/logged_difference.hpp"
#include "vector/approximate_mean.hpp"
#include "weights/included_rows.hpp"
#include "weights/shifted_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
/// What one row adds to the means.
struct Terms {
  V64 weight, loss, ips, clipped, ix;
};

template <bool kClip>
HWY_INLINE Terms terms(V64 w, V64 y, const WeightOptions& options) {
  const F64 d;
  Terms out{w, y, hn::Mul(w, y), hn::Zero(d), hn::Zero(d)};
  if constexpr (kClip) out.clipped = hn::Mul(hn::Min(w, hn::Set(d, options.clip)), y);
  out.ix = hn::Div(out.ips, hn::MulAdd(hn::Set(d, options.alpha), w, hn::Set(d, 1.0)));
  return out;
}

/// Terms near their means: first + mean of (term − first) over the rows of `w` that count, a few whole vectors. Exact
/// when all are equal, so that constants have no variance.
template <bool kClip>
HWY_INLINE Terms approximate_means(const double* w, const double* y, int rows, const WeightOptions& options) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int start = 0;
  while (start + 1 < rows && w[start] < 0) ++start;
  const Terms first = terms<kClip>(hn::Set(d, w[start]), hn::Set(d, y[start]), options);
  const V64 zero = hn::Zero(d);
  Terms sum{zero, zero, zero, zero, zero};
  for (int i = 0; i < rows; i += lanes) {
    const V64 vw = hn::Load(d, w + i);
    const auto out = hn::Lt(vw, zero);
    const Terms t = terms<kClip>(vw, hn::LoadU(d, y + i), options);
    const auto add = [&out](V64& total, V64 value, V64 origin)
                         HWY_ATTR { total = hn::Add(total, hn::IfThenZeroElse(out, hn::Sub(value, origin))); };
    add(sum.weight, t.weight, first.weight);
    add(sum.loss, t.loss, first.loss);
    add(sum.ips, t.ips, first.ips);
    if constexpr (kClip) add(sum.clipped, t.clipped, first.clipped);
    add(sum.ix, t.ix, first.ix);
  }
  const V64 share = hn::Set(d, 1.0 / rows);
  const auto mean = [&](V64 origin, V64 total) HWY_ATTR { return hn::MulAdd(hn::SumOfLanes(d, total), share, origin); };
  return {mean(first.weight, sum.weight), mean(first.loss, sum.loss), mean(first.ips, sum.ips),
          mean(first.clipped, sum.clipped), mean(first.ix, sum.ix)};
}

/// What the difference to the logged actions needs beside the sums of weights: with b = y − y₀ the sums of w b, w b², b
/// and b², and the squares of w_ix y − y.
struct JointSums {
  explicit HWY_INLINE JointSums(V64 zero) : wb(zero), wbb(zero), b(zero), bb(zero), ix(zero) {}

  HWY_INLINE void add(V64 dwb, V64 db) {
    wb = hn::Add(wb, dwb);
    wbb = hn::MulAdd(dwb, db, wbb);
    b = hn::Add(b, db);
    bb = hn::MulAdd(db, db, bb);
  }

  V64 wb, wbb, b, bb, ix;
};

/// Turns the sums into those of v = w − 1 and y. `weight` and `ix` are the sums of the same rows, `wwb` and `wwbb`
/// those of w² b and w² b². Where weights are near one this takes large numbers from each other.
HWY_INLINE void finish_joint(const JointSums& joint, const ShiftedSums<false>& weight, const ShiftedSums<false>& ix,
                             double wwb, double wwbb, double centre, double n, DifferenceSums& out) {
  const F64 d;
  const auto total = [d](V64 sum) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, sum)); };
  const double e = hn::GetLane(weight.shift) - 1;
  const double a = total(weight.sum), aa = total(weight.squares);
  const double wb = total(joint.wb), wbb = total(joint.wbb), b = total(joint.b), bb = total(joint.bb);
  const double v = a + n * e, vv = aa + e * (2 * a + n * e);
  const double vb = wb - b, vbb = wbb - bb, vvb = wwb - 2 * wb + b, vvbb = wwbb - 2 * wbb + bb;
  out.difference = {v, vb, 0, centre};
  out.product = {v, vb, vbb, centre};
  out.squared_difference = square_weighted(vv, vvb, vvbb, centre);
  out.squared_baseline = square_weighted(n, b, bb, centre);
  // v y = v b + centre v: its centred squares from those of v b and v.
  out.ips.count = out.ix.count = n;
  out.ips.mean = (vb + centre * v) / n;
  const double spread = aa - a * (a / n);
  const double squares = vvbb - vb * (vb / n) + centre * (2 * (vvb - vb * (v / n)) + centre * spread);
  out.ips.square_sum = squares > 0 ? squares : 0;
  const double ix_total = total(ix.sum) - b;
  out.ix.mean = hn::GetLane(ix.shift) - centre + ix_total / n;
  const double ix_squares = total(joint.ix) - ix_total * (ix_total / n);
  out.ix.square_sum = ix_squares > 0 ? ix_squares : 0;
}

/// One loop, one load of w and of y a row, every sum at once. Eight independent accumulators hide the latency of
/// addition. Rows with negative weights do not count; they are in the groups of `masked_groups`, so that the others
/// need no masks.
template <bool kClip, bool kRanges, bool kJoint>
HWY_INLINE void fused_sums(const IncludedRows& rows, const WeightOptions& options, WeightSums& out,
                           [[maybe_unused]] DifferenceSums* difference) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int sample = rows.padded < kShiftSample ? rows.padded : kShiftSample;
  const Terms shift = approximate_means<kClip>(rows.w, rows.y, sample, options);
  ShiftedSums<kRanges> weight(d, shift.weight), ips(d, shift.ips), clipped(d, shift.clipped), ix(d, shift.ix);
  V64 square_first = hn::Zero(d), square_second = hn::Zero(d);
  [[maybe_unused]] JointSums joint(hn::Zero(d));
  const auto step = [&](V64 vw, V64 vy, auto kept) HWY_ATTR {
    const Terms t = terms<kClip>(vw, vy, options);
    weight.add(t.weight, kept);
    ips.add(t.ips, kept);
    if constexpr (kClip) clipped.add(t.clipped, kept);
    ix.add(t.ix, kept);
    const V64 wdy = kept(hn::Mul(vw, hn::Sub(vy, shift.loss)), hn::Zero(d));
    square_first = hn::MulAdd(vw, wdy, square_first);
    square_second = hn::MulAdd(wdy, wdy, square_second);
    if constexpr (kJoint) {
      const V64 away = kept(hn::Sub(hn::Sub(t.ix, shift.ix), hn::Sub(vy, shift.loss)), hn::Zero(d));
      joint.ix = hn::MulAdd(away, away, joint.ix);
    }
  };
  // A loop of its own over the same group, still in the first-level cache: all accumulators would not fit the
  // registers.
  [[maybe_unused]] const auto joint_step = [&](V64 vw, V64 vy, auto kept) HWY_ATTR {
    const V64 db = kept(hn::Sub(vy, shift.loss), hn::Zero(d));
    joint.add(hn::Mul(vw, db), db);
  };
  for (int group = 0; group * kGroupRows < rows.padded; ++group) {
    const int first = group * kGroupRows, end = first + kGroupRows;
    const auto each = [&](auto&& body) HWY_ATTR {
      if (HWY_LIKELY((rows.masked_groups >> group & 1) == 0)) {
        for (int i = first; i < end; i += lanes) body(hn::Load(d, rows.w + i), hn::LoadU(d, rows.y + i), KeepAll());
        return;
      }
      for (int i = first; i < end; i += lanes) {
        const V64 vw = hn::Load(d, rows.w + i);
        const auto left_out = hn::Lt(vw, hn::Zero(d));
        body(vw, hn::LoadU(d, rows.y + i),
             [&left_out](V64 value, V64 neutral) HWY_ATTR { return hn::IfThenElse(left_out, neutral, value); });
      }
    };
    each(step);
    if constexpr (kJoint) each(joint_step);
  }
  const double count = rows.count;
  out.weight = weight.moments(count);
  out.ips = ips.moments(count);
  if constexpr (kClip) out.clipped = clipped.moments(count);
  out.ix = ix.moments(count);
  // Σw² from the centred moments: nothing is subtracted, so no digit is lost.
  const double total = out.weight.square_sum + count * out.weight.mean * out.weight.mean;
  const double first = hn::GetLane(hn::SumOfLanes(d, square_first));
  const double second = hn::GetLane(hn::SumOfLanes(d, square_second));
  out.square = {};
  if (total > 0) {
    out.square.weight = total;
    out.square.mean = hn::GetLane(shift.loss) + first / total;
    out.square.square_sum = second - first * (first / total);
    if (out.square.square_sum < 0) out.square.square_sum = 0;
  }
  if constexpr (kJoint) finish_joint(joint, weight, ix, first, second, hn::GetLane(shift.loss), count, *difference);
}

void fused_sums_impl(const IncludedRows& rows, const WeightOptions& options, WeightSums& out) {
  if (options.ranges) {
    options.clip > 0 ? fused_sums<true, true, false>(rows, options, out, nullptr)
                     : fused_sums<false, true, false>(rows, options, out, nullptr);
  } else {
    options.clip > 0 ? fused_sums<true, false, false>(rows, options, out, nullptr)
                     : fused_sums<false, false, false>(rows, options, out, nullptr);
  }
}

void joint_sums_impl(const IncludedRows& rows, const WeightOptions& options, WeightSums& out,
                     DifferenceSums& difference) {
  fused_sums<false, false, true>(rows, options, out, &difference);
}

Moments array_moments_impl(const double* values, int n, double shift) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  ShiftedSums<true> sums(d, hn::Set(d, shift));
  int i = 0;
  for (; i + lanes <= n; i += lanes) sums.add(hn::LoadU(d, values + i), KeepAll());
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n - i));
    sums.add(hn::LoadU(d, values + i),
             [&mask](V64 value, V64 neutral) HWY_ATTR { return hn::IfThenElse(mask, value, neutral); });
  }
  return sums.moments(n);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>

#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"
#include "weights/top_rows.hpp"
#include "weights/weight_units.hpp"

namespace scrm {
HWY_EXPORT(fused_sums_impl);
HWY_EXPORT(joint_sums_impl);
HWY_EXPORT(array_moments_impl);

namespace {

IncludedRows without_top(const Block& block, const TopRows& top, double* w) noexcept {
  return without_rows(block, w, std::span(top.entries).first(static_cast<std::size_t>(top.count)));
}

void run_fused(const IncludedRows& rows, const WeightOptions& options, WeightSums& out) noexcept {
  HWY_DYNAMIC_DISPATCH(fused_sums_impl)(rows, options, out);
}

// Weights that cannot be squared as they are. What is bounded by 1/α or by M keeps its own unit when weights are huge.
void run_scaled(const IncludedRows& rows, int exponent, const WeightOptions& options, WeightSums& out) noexcept {
  WeightSums bounded;
  if (exponent > 0) run_fused(rows, options, bounded);
  for (int i = 0; i < rows.padded; ++i) {
    if (!(rows.w[i] < 0)) rows.w[i] = std::ldexp(rows.w[i], -exponent);
  }
  WeightOptions scaled = options;
  scaled.alpha = std::ldexp(options.alpha, exponent);
  scaled.clip = std::ldexp(options.clip, -exponent);
  run_fused(rows, scaled, out);
  out.weight.exponent = out.ips.exponent = out.square.exponent = exponent;
  if (exponent > 0) {
    out.ix = bounded.ix;
    out.clipped = bounded.clipped;
  } else {
    out.ix.exponent = out.clipped.exponent = exponent;
  }
  for (int i = 0; i < rows.padded; ++i) {
    if (!(rows.w[i] < 0)) rows.w[i] = std::ldexp(rows.w[i], exponent);
  }
}

}  // namespace

void compute_weight_sums(const Block& block, double* weights, const WeightOptions& options, WeightSums& out) noexcept {
  assert(is_logged_block(block) && is_column(weights) && options.alpha >= 0 && options.clip >= 0);
  ensure_isa();
  out = WeightSums{};
  out.top = find_top_rows(block, weights);
  if (out.top.count == block.rows) return;
  const IncludedRows rows = without_top(block, out.top, weights);
  const int exponent = unit_exponent(out.top.entries[TopRows::kSize - 1].weight);
  if (exponent == 0) {
    run_fused(rows, options, out);
  } else {
    run_scaled(rows, exponent, options, out);
  }
}

void compute_logged_difference(const Block& block, double* weights, const WeightOptions& options, WeightSums& out,
                               DifferenceSums& difference) noexcept {
  assert(is_logged_block(block) && is_column(weights) && options.alpha >= 0 && options.clip >= 0);
  ensure_isa();
  out = WeightSums{};
  out.top = find_top_rows(block, weights);
  const bool simple = !options.ranges && options.clip == 0 && out.top.count < block.rows &&
                      unit_exponent(out.top.entries[TopRows::kSize - 1].weight) == 0;
  if (!simple) {
    compute_weight_sums(block, weights, options, out);
    compute_difference_sums(block, weights, out.top, {}, options, difference);
    return;
  }
  difference = DifferenceSums{};
  for (int t = 0; t < out.top.count; ++t) {
    const TopRows::Entry& entry = out.top.entries[static_cast<std::size_t>(t)];
    difference.held.rows[static_cast<std::size_t>(difference.held.count++)] = {entry.weight, 1.0, entry.loss,
                                                                               entry.row};
  }
  const IncludedRows rows = without_top(block, out.top, weights);
  // Weights near one leave few digits of their difference to it unless that is formed row by row. Where none is much
  // larger, as those of the logging policy itself, this is likely: the joint sums would be formed for nothing.
  constexpr double kNearOne = 1e-4, kMuchLarger = 1.01, kSurely = 0.99;
  if (out.top.entries[0].weight < kMuchLarger) {
    compute_difference_sums(block, weights, out.top, {}, options, difference);
    if (difference.squared_difference.weight < kSurely * kNearOne * rows.count) {
      run_fused(rows, options, out);
      return;
    }
  }
  HWY_DYNAMIC_DISPATCH(joint_sums_impl)(rows, options, out, difference);
  if (difference.squared_difference.weight < kNearOne * rows.count)
    compute_difference_sums(block, weights, out.top, {}, options, difference);
}

void add_row(WeightSums& sums, double weight, double loss, const WeightOptions& options) noexcept {
  const int exponent = unit_exponent(weight);
  const double unit = in_units(weight, exponent);
  sums.weight.merge(Moments::of(unit, exponent));
  sums.ips.merge(weighted_value(weight, loss));
  // π/(p + απ) as 1/(1/w + α) when w is so large that α w could overflow.
  const double ix = weight > 1 ? 1 / (1 / weight + options.alpha) : weight / (1 + options.alpha * weight);
  sums.ix.merge(weighted_value(ix, loss));
  if (options.clip > 0) sums.clipped.merge(weighted_value(std::min(weight, options.clip), loss));
  if (weight > 0) sums.square.merge({unit * unit, loss, 0, exponent});
}

void merge_weight_sums(WeightSums& earlier, const WeightSums& later, const WeightOptions& options) noexcept {
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
    add_row(earlier, entry.weight, entry.loss, options);
  }
}

Moments column_moments(const double* values, int rows) noexcept {
  assert(rows >= 0 && rows <= kBlockRows && (rows == 0 || values != nullptr));
  if (rows == 0) return {};
  ensure_isa();
  const double mean = approximate_mean(rows, [values](int i) { return values[i]; });
  // Near the largest double even that overflows: any of the values serves, and keeps the range right.
  const double shift = std::isfinite(mean) ? mean : values[0];
  const Moments out = HWY_DYNAMIC_DISPATCH(array_moments_impl)(values, rows, shift);
  if (std::isfinite(out.mean) || !std::isfinite(out.lowest) || !std::isfinite(out.highest)) return out;
  return moments_around(mean_of_large(values, rows), values, rows);
}

}  // namespace scrm
#endif
