#include "weights/top_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/top_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

// Groups of rows whose largest weights are kept, lane by lane, so that a second look goes to few of them.
constexpr int kGroupVectors = 16;
constexpr int kMaxGroups = kBlockRows / kGroupVectors;
// Groups with the same number modulo this are one part of the column, and so are their lanes.
constexpr int kParts = 8;

// A lower bound of the fifth-largest weight: the fifth of the maxima of kParts × lanes parts of the column. Starting
// from it, a handful of rows are looked at one by one, instead of the thirty or so that break the record of a growing
// list.
double top_k_threshold(const double* group_maxima, int groups) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  HWY_ALIGN double maxima[kParts * HWY_MAX_BYTES / sizeof(double)];
  for (int part = 0; part < kParts; ++part) {
    V64 largest = hn::Load(d, group_maxima + part * lanes);
    for (int g = part + kParts; g < groups; g += kParts) {
      largest = hn::Max(largest, hn::Load(d, group_maxima + g * lanes));
    }
    hn::Store(largest, d, maxima + part * lanes);
  }
  double top[TopRows::kSize];
  std::fill_n(top, TopRows::kSize, -HUGE_VAL);
  for (int m = 0; m < kParts * lanes; ++m) {
    if (!(maxima[m] > top[TopRows::kSize - 1])) continue;
    int place = TopRows::kSize - 1;
    for (; place > 0 && maxima[m] > top[place - 1]; --place) top[place] = top[place - 1];
    top[place] = maxima[m];
  }
  return top[TopRows::kSize - 1];
}

void find_top_rows_impl(const Block& block, const double* w, TopRows& top) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int group_rows = kGroupVectors * lanes;
  double limit = -1.0;
  const auto look_at = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      if (!(w[i] > limit)) continue;
      insert(top, {w[i], block.loss[i], block.first_row + i});
      if (top.count == TopRows::kSize) limit = top.entries[TopRows::kSize - 1].weight;
    }
  };
  const int groups = block.rows / group_rows;
  if (groups < kParts) return look_at(0, block.rows);
  HWY_ALIGN double group_maxima[kMaxGroups];
  for (int g = 0; g < groups; ++g) {
    const double* rows = w + g * group_rows;
    V64 a = hn::Load(d, rows), b = hn::Load(d, rows + lanes);
    for (int v = 2; v < kGroupVectors; v += 2) {
      a = hn::Max(a, hn::Load(d, rows + v * lanes));
      b = hn::Max(b, hn::Load(d, rows + (v + 1) * lanes));
    }
    hn::Store(hn::Max(a, b), d, group_maxima + g * lanes);
  }
  limit = std::nextafter(top_k_threshold(group_maxima, groups), -1.0);
  const auto any_above = [&](const double* values)
                             HWY_ATTR { return !hn::AllFalse(d, hn::Gt(hn::Load(d, values), hn::Set(d, limit))); };
  for (int g = 0; g < groups; ++g) {
    if (HWY_LIKELY(!any_above(group_maxima + g * lanes))) continue;
    for (int i = g * group_rows; i < (g + 1) * group_rows; i += lanes) {
      if (HWY_UNLIKELY(any_above(w + i))) look_at(i, i + lanes);
    }
  }
  look_at(groups * group_rows, block.rows);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(find_top_rows_impl);

TopRows find_top_rows(const Block& block, const double* weights) noexcept {
  assert(is_logged_block(block) && is_column(weights));
  ensure_isa();
  TopRows top;
  HWY_DYNAMIC_DISPATCH(find_top_rows_impl)(block, weights, top);
  return top;
}

}  // namespace scrm
#endif
