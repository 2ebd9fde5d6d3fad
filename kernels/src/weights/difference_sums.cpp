#include "scrm/kernels/weights/difference_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/difference_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weights/included_rows.hpp"
#include "weights/shifted_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

/// Differences of one row's terms.
struct VectorTerms {
  V64 loss, ips, clipped, ix;
};

/// `u` is not read where the baseline is the logged actions.
template <bool kLogged, bool kClip>
HWY_INLINE VectorTerms vector_terms(V64 w, V64 u, V64 y, const WeightOptions& options) {
  const F64 d;
  const V64 one = hn::Set(d, 1.0), alpha = hn::Set(d, options.alpha), clip = hn::Set(d, options.clip);
  VectorTerms out{y, hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  // w_ix − u_ix over one denominator: (w − 1 − α w) / (1 + α w), or (w − u) / ((1 + α w) (1 + α u)).
  const V64 v = hn::Sub(w, kLogged ? one : u);
  const V64 below = hn::MulAdd(alpha, w, one);
  out.ips = hn::Mul(v, y);
  if constexpr (kLogged) {
    out.ix = hn::Div(hn::Mul(hn::NegMulAdd(alpha, w, v), y), below);
    if constexpr (kClip) out.clipped = hn::Mul(hn::Sub(hn::Min(w, clip), one), y);
  } else {
    out.ix = hn::Div(out.ips, hn::Mul(below, hn::MulAdd(alpha, u, one)));
    if constexpr (kClip) out.clipped = hn::Mul(hn::Sub(hn::Min(w, clip), hn::Min(u, clip)), y);
  }
  return out;
}

/// Terms near their means: first + mean of (term − first) over a few whole vectors of rows. Exact when all are equal.
template <bool kLogged, bool kClip>
HWY_INLINE VectorTerms approximate_means(const IncludedRows& rows, const double* u, const WeightOptions& options) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int sample = rows.padded < kShiftSample ? rows.padded : kShiftSample;
  int start = 0;
  while (start + 1 < rows.padded && rows.w[start] < 0) ++start;
  const VectorTerms first = vector_terms<kLogged, kClip>(
      hn::Set(d, rows.w[start]), hn::Set(d, kLogged ? 1.0 : u[start]), hn::Set(d, rows.y[start]), options);
  const V64 zero = hn::Zero(d);
  VectorTerms sum{zero, zero, zero, zero};
  for (int i = 0; i < sample; i += lanes) {
    const V64 w = hn::Load(d, rows.w + i);
    const auto out = hn::Lt(w, zero);
    const VectorTerms t =
        vector_terms<kLogged, kClip>(w, kLogged ? zero : hn::Load(d, u + i), hn::LoadU(d, rows.y + i), options);
    const auto add = [&out](V64& total, V64 value, V64 origin)
                         HWY_ATTR { total = hn::Add(total, hn::IfThenZeroElse(out, hn::Sub(value, origin))); };
    add(sum.loss, t.loss, first.loss);
    add(sum.ips, t.ips, first.ips);
    if constexpr (kClip) add(sum.clipped, t.clipped, first.clipped);
    add(sum.ix, t.ix, first.ix);
  }
  const V64 share = hn::Set(d, 1.0 / sample);
  const auto mean = [&](V64 origin, V64 total) HWY_ATTR { return hn::MulAdd(hn::SumOfLanes(d, total), share, origin); };
  return {mean(first.loss, sum.loss), mean(first.ips, sum.ips), mean(first.clipped, sum.clipped),
          mean(first.ix, sum.ix)};
}

template <bool kLogged, bool kClip, bool kRanges>
HWY_INLINE void fused_differences(const IncludedRows& rows, const double* u, const WeightOptions& options,
                                  DifferenceSums& out) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V64 zero = hn::Zero(d), one = hn::Set(d, 1.0);
  const VectorTerms shift = approximate_means<kLogged, kClip>(rows, u, options);
  ShiftedSums<kRanges> ips(d, shift.ips), clipped(d, shift.clipped), ix(d, shift.ix);
  V64 v_sum = zero, vy = zero, vv = zero, vvy = zero, vvyy = zero, uv = zero, uvy = zero, uvyy = zero, uu = zero,
      uuy = zero, uuyy = zero;
  const auto step = [&](int i, auto kept) HWY_ATTR {
    const V64 w = hn::Load(d, rows.w + i), y = hn::LoadU(d, rows.y + i);
    const V64 base = kLogged ? one : hn::Load(d, u + i);
    const VectorTerms t = vector_terms<kLogged, kClip>(w, base, y, options);
    ips.add(t.ips, kept);
    if constexpr (kClip) clipped.add(t.clipped, kept);
    ix.add(t.ix, kept);
    const V64 v = kept(hn::Sub(w, base), zero);
    const V64 dy = kept(hn::Sub(y, shift.loss), zero);
    const V64 vdy = hn::Mul(v, dy);
    v_sum = hn::Add(v_sum, v);
    vy = hn::Add(vy, vdy);
    vv = hn::MulAdd(v, v, vv);
    vvy = hn::MulAdd(v, vdy, vvy);
    vvyy = hn::MulAdd(vdy, vdy, vvyy);
    if constexpr (kLogged) {
      uvyy = hn::MulAdd(vdy, dy, uvyy);
      uuy = hn::Add(uuy, dy);
      uuyy = hn::MulAdd(dy, dy, uuyy);
    } else {
      const V64 inside = kept(base, zero);
      const V64 udy = hn::Mul(inside, dy);
      uv = hn::MulAdd(inside, v, uv);
      uvy = hn::MulAdd(inside, vdy, uvy);
      uvyy = hn::MulAdd(udy, vdy, uvyy);
      uu = hn::MulAdd(inside, inside, uu);
      uuy = hn::MulAdd(inside, udy, uuy);
      uuyy = hn::MulAdd(udy, udy, uuyy);
    }
  };
  for (int group = 0; group * kGroupRows < rows.padded; ++group) {
    const int first = group * kGroupRows;
    const bool whole = (rows.masked_groups >> group & 1) == 0;
    for (int i = first; i < first + kGroupRows; i += lanes) {
      if (HWY_LIKELY(whole)) {
        step(i, KeepAll());
      } else {
        const auto left_out = hn::Lt(hn::Load(d, rows.w + i), zero);
        step(i, [&left_out](V64 value, V64 neutral) HWY_ATTR { return hn::IfThenElse(left_out, neutral, value); });
      }
    }
  }
  const double count = rows.count;
  out.ips = ips.moments(count);
  if constexpr (kClip) out.clipped = clipped.moments(count);
  out.ix = ix.moments(count);
  const auto total = [d](V64 sum) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, sum)); };
  const double centre = hn::GetLane(shift.loss);
  out.squared_difference = square_weighted(total(vv), total(vvy), total(vvyy), centre);
  out.difference = {total(v_sum), total(vy), 0, centre};
  out.product = {total(kLogged ? v_sum : uv), total(kLogged ? vy : uvy), total(uvyy), centre};
  out.squared_baseline = square_weighted(kLogged ? count : total(uu), total(uuy), total(uuyy), centre);
}

template <bool kLogged>
HWY_INLINE void with_options(const IncludedRows& rows, const double* u, const WeightOptions& options,
                             DifferenceSums& out) {
  if (options.ranges) {
    options.clip > 0 ? fused_differences<kLogged, true, true>(rows, u, options, out)
                     : fused_differences<kLogged, false, true>(rows, u, options, out);
  } else {
    options.clip > 0 ? fused_differences<kLogged, true, false>(rows, u, options, out)
                     : fused_differences<kLogged, false, false>(rows, u, options, out);
  }
}

void fused_differences_impl(const IncludedRows& rows, const double* u, const WeightOptions& options,
                            DifferenceSums& out) {
  u == nullptr ? with_options<true>(rows, u, options, out) : with_options<false>(rows, u, options, out);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"
#include "weights/weight_units.hpp"

namespace scrm {
HWY_EXPORT(fused_differences_impl);

namespace {

SquareWeightedMoments one_square(double weight, double loss) noexcept {
  const int exponent = unit_exponent(std::abs(weight));
  const double unit = in_units(weight, exponent);
  return {unit * unit, loss, 0, exponent};
}

void add_row(DifferenceSums& sums, const PairedRow& row, const WeightOptions& options, bool logged) noexcept {
  const DifferenceTerms terms =
      difference_terms(row, options.alpha, {.weight = options.clip, .baseline = options.clip}, logged);
  sums.ips.merge(terms.ips);
  if (options.clip > 0) sums.clipped.merge(terms.clipped);
  sums.ix.merge(terms.ix);
  const double v = row.weight - row.baseline;
  sums.squared_difference.merge(one_square(v, row.loss));
  sums.difference.merge({v, 0, 0, row.loss});
  sums.product.merge({row.baseline * v, 0, 0, row.loss});
  sums.squared_baseline.merge(one_square(row.baseline, row.loss));
}

/// Larger weights first, and of equal ones the earlier row.
bool comes_before(const PairedRow& a, const PairedRow& b) noexcept {
  return a.weight > b.weight || (a.weight == b.weight && a.row < b.row);
}

/// Whether fewer than five others have more weight under the baseline.
bool is_top_of_baseline(std::span<const PairedRow> rows, const PairedRow& row) noexcept {
  int before = 0;
  for (const PairedRow& other : rows) {
    before += other.baseline > row.baseline || (other.baseline == row.baseline && other.row < row.row) ? 1 : 0;
  }
  return before < TopRows::kSize;
}

/// The top rows of either side go from the block to `held`, and are marked as rows that do not count.
IncludedRows hold_top_rows(const Block& block, double* w, const TopRows& top, const BaselineWeights& baseline,
                           HeldRows& held) noexcept {
  const auto hold = [&](const TopRows& rows, bool of_baseline) {
    for (int t = 0; t < rows.count; ++t) {
      const TopRows::Entry& entry = rows.entries[static_cast<std::size_t>(t)];
      const auto at = entry.row - block.first_row;
      if (of_baseline && std::any_of(held.rows.begin(), held.rows.begin() + held.count,
                                     [&entry](const PairedRow& row) { return row.row == entry.row; }))
        continue;
      held.rows[static_cast<std::size_t>(held.count++)] = {
          .weight = of_baseline ? w[at] : entry.weight,
          .baseline = baseline.weights == nullptr ? 1.0 : baseline.weights[at],
          .loss = entry.loss,
          .row = entry.row};
    }
  };
  hold(top, false);
  if (baseline.weights != nullptr) {
    hold(baseline.top, true);
    std::sort(held.rows.begin(), held.rows.begin() + held.count, comes_before);
  }
  return without_rows(block, w, std::span<const PairedRow>(held.rows).first(static_cast<std::size_t>(held.count)));
}

/// The largest weight outside the top rows is not above their last.
bool can_be_squared(const TopRows& top) noexcept {
  return top.count < TopRows::kSize || top.entries[TopRows::kSize - 1].weight < kSafeWeight;
}

}  // namespace

void SignedMoments::recentre(double to) noexcept {
  const double shift = centre - to;
  centre = to;
  second += shift * (2 * first + shift * total);
  first += shift * total;
}

void SignedMoments::merge(SignedMoments later) noexcept {
  if (total == 0 && first == 0 && second == 0) {
    *this = later;
    return;
  }
  later.recentre(centre);
  total += later.total;
  first += later.first;
  second += later.second;
}

DifferenceTerms difference_terms(const PairedRow& row, double alpha, const DifferenceClips& clips,
                                 bool logged) noexcept {
  const double w = row.weight, u = row.baseline;
  const auto shrunk = [alpha](double weight) { return 1 / (1 / weight + alpha); };
  double ix = 0;
  if (std::max(w, u) >= kSafeWeight) {  // α w could overflow
    ix = shrunk(w) - (logged ? 1.0 : shrunk(u));
  } else {
    ix = logged ? (w - 1 - alpha * w) / (1 + alpha * w) : (w - u) / ((1 + alpha * w) * (1 + alpha * u));
  }
  const double clipped = std::min(w, clips.weight) - (logged ? 1.0 : std::min(u, clips.baseline));
  return {weighted_value(w - u, row.loss), weighted_value(clipped, row.loss), weighted_value(ix, row.loss)};
}

void compute_difference_sums(const Block& block, double* weights, const TopRows& top, const BaselineWeights& baseline,
                             const WeightOptions& options, DifferenceSums& out) noexcept {
  assert(is_logged_block(block) && is_column(weights) && (baseline.weights == nullptr || is_column(baseline.weights)));
  ensure_isa();
  out = DifferenceSums{};
  const IncludedRows rows = hold_top_rows(block, weights, top, baseline, out.held);
  if (rows.count == 0) return;
  if (can_be_squared(top) && can_be_squared(baseline.top)) {
    HWY_DYNAMIC_DISPATCH(fused_differences_impl)(rows, baseline.weights, options, out);
    return;
  }
  // Such weights are a rarity: one row at a time, each in its own unit.
  const bool logged = baseline.weights == nullptr;
  for (int i = 0; i < block.rows; ++i) {
    if (weights[i] < 0) continue;
    add_row(out, {weights[i], logged ? 1.0 : baseline.weights[i], block.loss[i], block.first_row + i}, options, logged);
  }
}

void merge_difference_sums(DifferenceSums& earlier, const DifferenceSums& later, const WeightOptions& options,
                           bool logged) noexcept {
  earlier.ips.merge(later.ips);
  earlier.clipped.merge(later.clipped);
  earlier.ix.merge(later.ix);
  earlier.squared_difference.merge(later.squared_difference);
  earlier.difference.merge(later.difference);
  earlier.product.merge(later.product);
  earlier.squared_baseline.merge(later.squared_baseline);
  std::array<PairedRow, 2 * HeldRows::kSize> both;
  const auto held = [](const HeldRows& rows) {
    return std::span(rows.rows.data(), static_cast<std::size_t>(rows.count));
  };
  const std::span<const PairedRow> first = held(earlier.held), second = held(later.held);
  // By weight, as blocks hold them: the five largest of the policy come first.
  std::merge(first.begin(), first.end(), second.begin(), second.end(), both.begin(), comes_before);
  const std::span<const PairedRow> rows(both.data(), first.size() + second.size());
  earlier.held.count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i < TopRows::kSize || (!logged && is_top_of_baseline(rows, rows[i]))) {
      earlier.held.rows[static_cast<std::size_t>(earlier.held.count++)] = rows[i];
    } else {
      add_row(earlier, rows[i], options, logged);
    }
  }
}

}  // namespace scrm
#endif
