// Products of sparse contexts with several columns: scores by rows of entries, and gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/sparse_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"
#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
// Sums of a row over a tile of outputs stay in registers: as many as leave room for what is loaded.
constexpr int kTileVectors = 6;
constexpr int kTileLanes = kTileVectors * (HWY_MAX_BYTES / static_cast<int>(sizeof(double)));
// Columns of a block lie a power of two apart and push each other out of the cache: they are met a cache line of rows
// at a time.
constexpr int kBand = 8;

// Where vector k of `outputs` begins. The last one ends where they do, and may hold some that the one before has too:
// both get the same numbers.
HWY_INLINE int vector_begin(int k, int outputs, int lanes) {
  return k * lanes < outputs - lanes ? k * lanes : outputs - lanes;
}

// sums = weights[0] + Σ_e x_e weights[1 + index_e], with a product and an addition each: one output's sum has the same
// bits whatever stands beside it.
template <int kVectors>
HWY_INLINE void row_sums(const SparseContext& x, int row, const double* weights, std::int64_t stride, int outputs,
                         double* sums) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V64 sum[kVectors];
  for (int k = 0; k < kVectors; ++k) sum[k] = hn::LoadU(d, weights + vector_begin(k, outputs, lanes));
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
    const double* weight = weights + (1 + static_cast<std::int64_t>(x.indices[e])) * stride;
    const V64 value = hn::Set(d, x.values[e]);
    for (int k = 0; k < kVectors; ++k)
      sum[k] = hn::Add(sum[k], hn::Mul(value, hn::LoadU(d, weight + vector_begin(k, outputs, lanes))));
  }
  for (int k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, sums + vector_begin(k, outputs, lanes));
}

// out[index_e] += x_e coefficients, for the entries of one row.
template <int kVectors>
HWY_INLINE void add_row(const SparseContext& x, int row, const double* coefficients, int columns, std::int64_t stride,
                        double* out) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V64 coefficient[kVectors];
  for (int k = 0; k < kVectors; ++k) coefficient[k] = hn::LoadU(d, coefficients + vector_begin(k, columns, lanes));
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
    double* to = out + static_cast<std::int64_t>(x.indices[e]) * stride;
    const V64 value = hn::Set(d, x.values[e]);
    V64 sum[kVectors];
    for (int k = 0; k < kVectors; ++k)
      sum[k] = hn::Add(hn::LoadU(d, to + vector_begin(k, columns, lanes)), hn::Mul(value, coefficient[k]));
    for (int k = 0; k < kVectors; ++k) hn::StoreU(sum[k], d, to + vector_begin(k, columns, lanes));
  }
}

// Fewer than a vector.
HWY_INLINE void short_row_sums(const SparseContext& x, int row, const double* weights, std::int64_t stride, int outputs,
                               double* sums) {
  for (int k = 0; k < outputs; ++k) sums[k] = weights[k];
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
    const double* weight = weights + (1 + static_cast<std::int64_t>(x.indices[e])) * stride;
    for (int k = 0; k < outputs; ++k) sums[k] += x.values[e] * weight[k];
  }
}

HWY_INLINE void add_short_row(const SparseContext& x, int row, const double* coefficients, int columns,
                              std::int64_t stride, double* out) {
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
    double* to = out + static_cast<std::int64_t>(x.indices[e]) * stride;
    for (int c = 0; c < columns; ++c) to[c] += x.values[e] * coefficients[c];
  }
}

// Of a tile of outputs, `vectors` of which hold them all.
template <int kVectors>
HWY_INLINE void row_sums_of(int vectors, const SparseContext& x, int row, const double* weights, std::int64_t stride,
                            int outputs, double* sums) {
  if (vectors == kVectors) return row_sums<kVectors>(x, row, weights, stride, outputs, sums);
  if constexpr (kVectors > 1) row_sums_of<kVectors - 1>(vectors, x, row, weights, stride, outputs, sums);
}

template <int kVectors>
HWY_INLINE void add_row_of(int vectors, const SparseContext& x, int row, const double* coefficients, int columns,
                           std::int64_t stride, double* out) {
  if (vectors == kVectors) return add_row<kVectors>(x, row, coefficients, columns, stride, out);
  if constexpr (kVectors > 1) add_row_of<kVectors - 1>(vectors, x, row, coefficients, columns, stride, out);
}

HWY_INLINE int tile_outputs(int left) {
  const int most = kTileVectors * static_cast<int>(hn::Lanes(F64()));
  return left < most ? left : most;
}

void sparse_scores_impl(const SparseContext& x, const double* weights, std::int64_t all_outputs, int rows,
                        const ScoreRange& range) {
  const int lanes = static_cast<int>(hn::Lanes(F64()));
  for (int first = 0, outputs = 0; first < range.outputs; first += outputs) {
    outputs = tile_outputs(range.outputs - first);
    const double* own = weights + range.first_output + first;
    for (int band = 0; band < rows; band += kBand) {
      double sums[kBand][kTileLanes];
      const int count = rows - band < kBand ? rows - band : kBand;
      for (int i = 0; i < count; ++i) {
        const int row = range.first_row + band + i;
        if (outputs < lanes)
          short_row_sums(x, row, own, all_outputs, outputs, sums[i]);
        else
          row_sums_of<kTileVectors>((outputs + lanes - 1) / lanes, x, row, own, all_outputs, outputs, sums[i]);
      }
      for (int k = 0; k < outputs; ++k) {
        for (int i = 0; i < count; ++i) range.out[(first + k) * range.stride + band + i] = sums[i][k];
      }
    }
  }
}

void add_sparse_products_impl(const SparseContext& x, int rows, const double* coefficients, int columns, double* out) {
  const int lanes = static_cast<int>(hn::Lanes(F64()));
  for (int first = 0, count = 0; first < columns; first += count) {
    count = tile_outputs(columns - first);
    for (int band = 0; band < rows; band += kBand) {
      double own[kBand][kTileLanes];
      const int in_band = rows - band < kBand ? rows - band : kBand;
      for (int c = 0; c < count; ++c) {
        const double* column = coefficients + static_cast<std::int64_t>(first + c) * kBlockRows + band;
        for (int i = 0; i < in_band; ++i) own[i][c] = column[i];
      }
      for (int i = 0; i < in_band; ++i) {
        if (count < lanes)
          add_short_row(x, band + i, own[i], count, columns, out + first);
        else
          add_row_of<kTileVectors>((count + lanes - 1) / lanes, x, band + i, own[i], count, columns, out + first);
      }
    }
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(sparse_scores_impl);
HWY_EXPORT(add_sparse_products_impl);

void sparse_scores(const Block& block, const double* weights, int all_outputs, const ScoreRange& range) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr != nullptr && weights != nullptr && range.out != nullptr);
  assert(range.outputs >= 1 && range.first_output + range.outputs <= all_outputs);
  ensure_isa();
  const int rows = std::min(range.rows, block.rows - range.first_row);
  HWY_DYNAMIC_DISPATCH(sparse_scores_impl)(block.sparse, weights, all_outputs, rows, range);
}

void add_sparse_context_products(const Block& block, const double* coefficients, int columns, double* out) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr != nullptr);
  assert(coefficients != nullptr && columns >= 1 && out != nullptr);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(add_sparse_products_impl)(block.sparse, block.rows, coefficients, columns, out);
}

}  // namespace scrm
#endif
