#include "scrm/kernels/scores/tile_products.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/tile_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

// kOutputs outputs by kVectors vectors of columns: twelve sums at most, which fit the registers of every instruction
// set together with one number of each output, and never wait for each other.
template <int kOutputs, int kVectors>
HWY_INLINE void add_outputs(const TileProducts& p, int first) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const double* slopes = p.slopes + first * p.stride;
  V64 sums[kOutputs][kVectors];
  for (auto& row : sums) {
    for (V64& sum : row) sum = hn::Zero(d);
  }
  for (int i = 0; i < p.rows; ++i) {
    const double* x = p.panel + i * kPanelWidth;
    // The fewer of the two stay in registers while the others come by one at a time.
    if constexpr (kVectors < kOutputs) {
      V64 own[kVectors];
      for (int v = 0; v < kVectors; ++v) own[v] = hn::Load(d, x + v * lanes);
      for (int k = 0; k < kOutputs; ++k) {
        const V64 slope = hn::Set(d, slopes[k * p.stride + i]);
        for (int v = 0; v < kVectors; ++v) sums[k][v] = hn::MulAdd(slope, own[v], sums[k][v]);
      }
    } else {
      V64 slope[kOutputs];
      for (int k = 0; k < kOutputs; ++k) slope[k] = hn::Set(d, slopes[k * p.stride + i]);
      for (int v = 0; v < kVectors; ++v) {
        const V64 own = hn::Load(d, x + v * lanes);
        for (int k = 0; k < kOutputs; ++k) sums[k][v] = hn::MulAdd(slope[k], own, sums[k][v]);
      }
    }
  }
  const int whole = p.columns / lanes;
  for (int k = 0; k < kOutputs; ++k) {
    double* out = p.out + (first + k) * p.out_stride;
    for (int v = 0; v < kVectors; ++v) {
      double* at = out + v * lanes;
      if (v < whole) {
        hn::StoreU(hn::Add(hn::LoadU(d, at), sums[k][v]), d, at);
        continue;
      }
      HWY_ALIGN double last[HWY_MAX_BYTES / sizeof(double)];
      hn::Store(sums[k][v], d, last);
      for (int c = v * lanes; c < p.columns; ++c) out[c] += last[c - v * lanes];
    }
  }
}

template <int kVectors>
HWY_INLINE void add_products(const TileProducts& p) {
  constexpr int kOutputs = kVectors == 1 ? 8 : 12 / kVectors > 1 ? 12 / kVectors : 1;
  int k = 0;
  for (; k + kOutputs <= p.outputs; k += kOutputs) add_outputs<kOutputs, kVectors>(p, k);
  for (; k < p.outputs; ++k) add_outputs<1, kVectors>(p, k);
}

// As many vectors as the columns take.
template <int kVectors>
HWY_INLINE void add_products_of(const TileProducts& p, int vectors) {
  if constexpr (kVectors * HWY_MAX_BYTES <= kPanelWidth * static_cast<int>(sizeof(double))) {
    if (vectors == kVectors) return add_products<kVectors>(p);
    add_products_of<kVectors + 1>(p, vectors);
  }
}

void add_tile_products_impl(const TileProducts& p) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  add_products_of<1>(p, (p.columns + lanes - 1) / lanes);
}

void fill_panel_impl(const double* columns, std::int64_t stride, int count, int rows, const double* factor,
                     double* panel) {
  int done = 0;
#if HWY_MAX_BYTES >= 32
  // Four columns of four rows at a time, whatever the length of vectors.
  const hn::FixedTag<double, 4> d;
  for (; done + 4 <= count; done += 4) {
    const double* from = columns + done * stride;
    for (int i = 0; i < rows; i += 4) {
      const auto f = hn::LoadU(d, factor + i);
      const auto a = hn::Mul(f, hn::LoadU(d, from + i)), b = hn::Mul(f, hn::LoadU(d, from + stride + i));
      const auto c = hn::Mul(f, hn::LoadU(d, from + 2 * stride + i)),
                 e = hn::Mul(f, hn::LoadU(d, from + 3 * stride + i));
      const auto ab_even = hn::InterleaveLower(d, a, b), ab_odd = hn::InterleaveUpper(d, a, b);
      const auto ce_even = hn::InterleaveLower(d, c, e), ce_odd = hn::InterleaveUpper(d, c, e);
      double* to = panel + i * kPanelWidth + done;
      hn::StoreU(hn::ConcatLowerLower(d, ce_even, ab_even), d, to);
      hn::StoreU(hn::ConcatLowerLower(d, ce_odd, ab_odd), d, to + kPanelWidth);
      hn::StoreU(hn::ConcatUpperUpper(d, ce_even, ab_even), d, to + 2 * kPanelWidth);
      hn::StoreU(hn::ConcatUpperUpper(d, ce_odd, ab_odd), d, to + 3 * kPanelWidth);
    }
  }
#endif
  for (; done < count; ++done) {
    for (int i = 0; i < rows; ++i) panel[i * kPanelWidth + done] = factor[i] * columns[done * stride + i];
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(add_tile_products_impl);
HWY_EXPORT(fill_panel_impl);

void fill_panel(const double* columns, std::int64_t stride, int count, int rows, const double* factor,
                double* panel) noexcept {
  assert(count >= 0 && count <= kPanelWidth && rows % 4 == 0 && stride >= rows && is_column(panel));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(fill_panel_impl)(columns, stride, count, rows, factor, panel);
}

void add_tile_products(const TileProducts& product) noexcept {
  assert(product.columns >= 1 && product.columns <= kPanelWidth && is_column(product.panel));
  assert(product.slopes != nullptr && product.out != nullptr && product.stride >= product.rows);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(add_tile_products_impl)(product);
}

}  // namespace scrm
#endif
