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

// kOutputs outputs by kVectors vectors of columns: eight to twelve sums, which fit the registers of every instruction
// set and never wait for each other.
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
    V64 x[kVectors];
    for (int v = 0; v < kVectors; ++v) x[v] = hn::Load(d, p.panel + i * kPanelWidth + v * lanes);
    for (int k = 0; k < kOutputs; ++k) {
      const V64 slope = hn::Set(d, slopes[k * p.stride + i]);
      for (int v = 0; v < kVectors; ++v) sums[k][v] = hn::MulAdd(slope, x[v], sums[k][v]);
    }
  }
  for (int k = 0; k < kOutputs; ++k) {
    HWY_ALIGN double row[kVectors * HWY_MAX_BYTES / sizeof(double)];
    for (int v = 0; v < kVectors; ++v) hn::Store(sums[k][v], d, row + v * lanes);
    double* out = p.out + (first + k) * p.out_stride;
    for (int c = 0; c < p.columns; ++c) out[c] += row[c];
  }
}

template <int kVectors>
HWY_INLINE void add_products(const TileProducts& p) {
  constexpr int kOutputs = kVectors == 1 ? 8 : 12 / kVectors > 1 ? 12 / kVectors : 1;
  int k = 0;
  for (; k + kOutputs <= p.outputs; k += kOutputs) add_outputs<kOutputs, kVectors>(p, k);
  for (; k < p.outputs; ++k) add_outputs<1, kVectors>(p, k);
}

void add_tile_products_impl(const TileProducts& p) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  switch ((p.columns + lanes - 1) / lanes) {
    case 1:
      return add_products<1>(p);
    case 2:
      return add_products<2>(p);
    case 3:
      return add_products<3>(p);
    case 4:
      return add_products<4>(p);
    default:  // vectors of two numbers, or of one
      return lanes > 1 ? add_products<8>(p) : add_products<16>(p);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(add_tile_products_impl);

void add_tile_products(const TileProducts& product) noexcept {
  assert(product.columns >= 1 && product.columns <= kPanelWidth && is_column(product.panel));
  assert(product.slopes != nullptr && product.out != nullptr && product.stride >= product.rows);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(add_tile_products_impl)(product);
}

}  // namespace scrm
#endif
