#include "top_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "top_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <functional>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

// A lower bound of the fifth-largest weight: the fifth of the maxima of 8 × lanes interleaved parts of the column.
// Starting from it, a handful of rows are looked at one by one, instead of the thirty or so that break the record of a
// growing list.
double top_k_threshold(const double* w, int n) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  constexpr int kParts = 8;
  V64 largest[kParts];
  for (int k = 0; k < kParts; ++k) largest[k] = hn::Load(d, w + k * lanes);
  for (int i = kParts * lanes; i + kParts * lanes <= n; i += kParts * lanes) {
    for (int k = 0; k < kParts; ++k) largest[k] = hn::Max(largest[k], hn::Load(d, w + i + k * lanes));
  }
  HWY_ALIGN double maxima[kParts * HWY_MAX_BYTES / sizeof(double)];
  for (int k = 0; k < kParts; ++k) hn::Store(largest[k], d, maxima + k * lanes);
  std::nth_element(maxima, maxima + TopRows::kSize - 1, maxima + kParts * lanes, std::greater<>());
  return maxima[TopRows::kSize - 1];
}

void find_top_rows_impl(const Block& block, const double* w, TopRows& top) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  constexpr int kWorthwhile = 128;
  double limit = block.rows < kWorthwhile ? -1.0 : std::nextafter(top_k_threshold(w, block.rows), -1.0);
  const auto look_at = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      if (!(w[i] > limit)) continue;
      insert(top, {w[i], block.loss[i], block.first_row + i});
      if (top.count == TopRows::kSize) limit = top.entries[TopRows::kSize - 1].weight;
    }
  };
  int i = 0;
  for (; i + 4 * lanes <= block.rows; i += 4 * lanes) {
    const V64 a = hn::Max(hn::Load(d, w + i), hn::Load(d, w + i + lanes));
    const V64 b = hn::Max(hn::Load(d, w + i + 2 * lanes), hn::Load(d, w + i + 3 * lanes));
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(hn::Max(a, b), hn::Set(d, limit))))) look_at(i, i + 4 * lanes);
  }
  look_at(i, block.rows);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dispatch.hpp"
#include "preconditions.hpp"

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
