#include "scrm/kernels/scores/scores.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/scores.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector/vector_math-inl.hpp"

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

#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(dense_scores_impl);

namespace {

double sparse_row_score(const Block& block, FeatureMap map, const double* theta, int row) noexcept {
  const SparseContext& x = block.sparse;
  const double* products = theta + 1 + block.features;
  double sum = theta[0];
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) sum += theta[1 + x.indices[e]] * x.values[e];
  if (map == FeatureMap::linear) return sum;
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
    for (std::int64_t f = e; f < x.indptr[row + 1]; ++f) {
      const std::int64_t j = std::min(x.indices[e], x.indices[f]);
      const std::int64_t k = std::max(x.indices[e], x.indices[f]);
      // A repeated index stands for the sum of its values, so both mixed products count.
      const double times = e != f && j == k ? 2.0 : 1.0;
      sum += times * products[quadratic_index(j, k, block.features)] * x.values[e] * x.values[f];
    }
  }
  return sum;
}

template <class T>
void dense_mapped_context(const T* x, std::int64_t features, std::int64_t first, std::int64_t count, int rows,
                          double* out) noexcept {
  const auto widen = [rows](const T* in, double* to) {
    for (int i = 0; i < rows; ++i) to[i] = static_cast<double>(in[i]);
  };
  const auto multiply = [rows](const T* a, const T* b, double* to) {
    for (int i = 0; i < rows; ++i) to[i] = static_cast<double>(a[i]) * static_cast<double>(b[i]);
  };
  std::int64_t column = first;
  for (; column < std::min(first + count, features); ++column, out += rows) widen(x + column * kBlockRows, out);
  if (column == first + count) return;
  std::int64_t j = 0;
  std::int64_t product = column - features;
  while (product >= features - j) product -= features - j++;
  for (std::int64_t k = j + product; column < first + count; ++column, out += rows) {
    multiply(x + j * kBlockRows, x + k * kBlockRows, out);
    if (++k == features) k = ++j;
  }
}

}  // namespace

void block_scores(const Block& block, FeatureMap map, const double* theta, double* out) noexcept {
  assert(has_valid_context(block) && theta != nullptr && is_column(out));
  if (block.sparse.indptr != nullptr)
    return sparse_scores(block, map, theta, {.rows = block.rows, .outputs = 1, .out = out});
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(dense_scores_impl)(block, map, theta, out);
}

void sparse_scores(const Block& block, FeatureMap map, const double* theta, const ScoreRange& range) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr != nullptr && theta != nullptr && range.out != nullptr);
  const std::int64_t width = 1 + mapped_features(map, block.features);
  const int rows = std::min(range.rows, block.rows - range.first_row);
  for (int k = 0; k < range.outputs; ++k) {
    const double* own = theta + (range.first_output + k) * width;
    for (int i = 0; i < rows; ++i) {
      range.out[k * range.stride + i] = sparse_row_score(block, map, own, range.first_row + i);
    }
  }
}

void mapped_context(const Block& block, std::int64_t first, std::int64_t count, double* out, int first_row,
                    int rows) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr == nullptr && first >= 0 && count >= 0);
  assert(first + count <= mapped_features(FeatureMap::quadratic, block.features));
  assert(first_row >= 0 && rows >= 0 && first_row + rows <= kBlockRows);
  if (count == 0) return;
  if (block.context_type == FloatType::f32) {
    const auto* x = static_cast<const float*>(block.context) + first_row;
    dense_mapped_context(x, block.features, first, count, rows, out);
  } else {
    const auto* x = static_cast<const double*>(block.context) + first_row;
    dense_mapped_context(x, block.features, first, count, rows, out);
  }
}

}  // namespace scrm
#endif
