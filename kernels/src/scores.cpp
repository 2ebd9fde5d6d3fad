#include "scrm/kernels/scores.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
// Adds kColumns columns at once: few enough streams for the hardware prefetcher at any width, and one load and store of
// `out` (which stays in L1) for each group of columns. Every row adds its features in the same order: the bits of a
// score do not depend on where in a block its row stands.
template <int kColumns, class T>
HWY_INLINE void add_columns(const T* context, const double* theta, double* out) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V64 weight[kColumns];
  for (int j = 0; j < kColumns; ++j) weight[j] = hn::Set(d, theta[j]);
  for (int i = 0; i < kBlockRows; i += lanes) {
    V64 sum = hn::Load(d, out + i);
    for (int j = 0; j < kColumns; ++j) sum = hn::MulAdd(weight[j], load_column(d, context + j * kBlockRows + i), sum);
    hn::Store(sum, d, out + i);
  }
}

template <class T>
HWY_INLINE void linear_scores(const T* context, std::int64_t features, const double* theta, double* out) {
  const F64 d;
  const V64 intercept = hn::Set(d, theta[0]);
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) hn::Store(intercept, d, out + i);
  std::int64_t j = 0;
  for (; j + 5 <= features; j += 5) add_columns<5>(context + j * kBlockRows, theta + 1 + j, out);
  for (; j < features; ++j) add_columns<1>(context + j * kBlockRows, theta + 1 + j, out);
}

// Σ_j x_j (Σ_{k≥j} θ_jk x_k): one multiplication by x_j for each j instead of one for each product.
template <class T>
HWY_INLINE void add_quadratic(const T* context, std::int64_t features, const double* theta, double* out) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = hn::Load(d, out + i);
    const double* product = theta;
    for (std::int64_t j = 0; j < features; ++j) {
      V64 inner = hn::Zero(d);
      for (std::int64_t k = j; k < features; ++k) {
        inner = hn::MulAdd(hn::Set(d, *product++), load_column(d, context + k * kBlockRows + i), inner);
      }
      sum = hn::MulAdd(load_column(d, context + j * kBlockRows + i), inner, sum);
    }
    hn::Store(sum, d, out + i);
  }
}

template <class T>
HWY_INLINE void dense_scores(const Block& block, const T* context, FeatureMap map, const double* theta, double* out) {
  linear_scores(context, block.features, theta, out);
  if (map == FeatureMap::quadratic) add_quadratic(context, block.features, theta + 1 + block.features, out);
}

void dense_scores_impl(const Block& block, FeatureMap map, const double* theta, double* out) {
  if (block.context_type == FloatType::f32) {
    dense_scores(block, static_cast<const float*>(block.context), map, theta, out);
  } else {
    dense_scores(block, static_cast<const double*>(block.context), map, theta, out);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstdint>

#include "dispatch.hpp"
#include "preconditions.hpp"

namespace scrm {
HWY_EXPORT(dense_scores_impl);

namespace {

void sparse_row_scores(const Block& block, FeatureMap map, const double* theta, double* out) noexcept {
  const SparseContext& x = block.sparse;
  const double* products = theta + 1 + block.features;
  for (int i = 0; i < block.rows; ++i) {
    double sum = theta[0];
    for (std::int64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e) sum += theta[1 + x.indices[e]] * x.values[e];
    if (map == FeatureMap::quadratic) {
      for (std::int64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
        for (std::int64_t f = e; f < x.indptr[i + 1]; ++f) {
          const std::int64_t j = std::min(x.indices[e], x.indices[f]);
          const std::int64_t k = std::max(x.indices[e], x.indices[f]);
          // A repeated index stands for the sum of its values, so both mixed products count.
          const double times = e != f && j == k ? 2.0 : 1.0;
          sum += times * products[quadratic_index(j, k, block.features)] * x.values[e] * x.values[f];
        }
      }
    }
    out[i] = sum;
  }
}

template <class T>
void widen(const T* in, double* out) noexcept {
  for (int i = 0; i < kBlockRows; ++i) out[i] = static_cast<double>(in[i]);
}

template <class T>
void multiply(const T* a, const T* b, double* out) noexcept {
  for (int i = 0; i < kBlockRows; ++i) out[i] = static_cast<double>(a[i]) * static_cast<double>(b[i]);
}

template <class T>
void dense_mapped_context(const T* x, std::int64_t features, std::int64_t first, std::int64_t count,
                          double* out) noexcept {
  std::int64_t column = first;
  for (; column < std::min(first + count, features); ++column, out += kBlockRows) widen(x + column * kBlockRows, out);
  if (column == first + count) return;
  std::int64_t j = 0;
  std::int64_t product = column - features;
  while (product >= features - j) product -= features - j++;
  for (std::int64_t k = j + product; column < first + count; ++column, out += kBlockRows) {
    multiply(x + j * kBlockRows, x + k * kBlockRows, out);
    if (++k == features) k = ++j;
  }
}

}  // namespace

void block_scores(const Block& block, FeatureMap map, const double* theta, double* out) noexcept {
  assert(has_valid_context(block) && theta != nullptr && is_column(out));
  if (block.sparse.indptr != nullptr) return sparse_row_scores(block, map, theta, out);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(dense_scores_impl)(block, map, theta, out);
}

void sparse_scores(const Block& block, const double* weights, int outputs, double* out) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr != nullptr);
  assert(weights != nullptr && outputs >= 1 && out != nullptr);
  // Sums of one row over a few outputs stay in registers; the strided store to the columns happens once for each row.
  constexpr int kTile = 16;
  const SparseContext& x = block.sparse;
  for (int k0 = 0; k0 < outputs; k0 += kTile) {
    const int tile = std::min(kTile, outputs - k0);
    for (int i = 0; i < block.rows; ++i) {
      double sum[kTile];
      for (int k = 0; k < tile; ++k) sum[k] = weights[k0 + k];
      for (std::int64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
        const double* row = weights + (1 + static_cast<std::int64_t>(x.indices[e])) * outputs + k0;
        for (int k = 0; k < tile; ++k) sum[k] += x.values[e] * row[k];
      }
      for (int k = 0; k < tile; ++k) out[(k0 + k) * kBlockRows + i] = sum[k];
    }
  }
}

void mapped_context(const Block& block, std::int64_t first, std::int64_t count, double* out) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr == nullptr && first >= 0 && count >= 0);
  assert(first + count <= mapped_features(FeatureMap::quadratic, block.features));
  if (block.context_type == FloatType::f32) {
    dense_mapped_context(static_cast<const float*>(block.context), block.features, first, count, out);
  } else {
    dense_mapped_context(static_cast<const double*>(block.context), block.features, first, count, out);
  }
}

}  // namespace scrm
#endif
