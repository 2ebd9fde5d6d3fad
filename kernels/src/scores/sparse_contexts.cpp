#include "scrm/kernels/scores/sparse_contexts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/sparse_contexts.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors go along outputs, of which there are rarely more than a few tens: longer ones would leave more of them over.
// Products are rounded before they are added, entry by entry: the same bits on every instruction set.
using Few = hn::CappedTag<double, 4>;
using VFew = hn::Vec<Few>;

// Rows whose numbers meet in one cache line of a column. Columns lie a power of two apart and push each other out of
// the first-level cache, so a line of each is read or written whole, once.
constexpr int kLineRows = 8;

// Sums of one row that stay in registers.
constexpr int kMaxVectors = 8;
constexpr int kTileOutputs = kMaxVectors * 4;

// Scores of outputs [0, outputs) of one row, outputs being more than kVectors - 1 vectors and at most kVectors: the
// last vector ends with the last output, and may compute a few of the one before it again.
template <int kVectors>
HWY_INLINE void row_scores(const SparseContext& x, int row, const double* weights, int all_outputs, int outputs,
                           double* out) {
  const Few d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int last = outputs - lanes;
  VFew sum[kVectors];
  for (int v = 0; v < kVectors - 1; ++v) sum[v] = hn::LoadU(d, weights + v * lanes);
  sum[kVectors - 1] = hn::LoadU(d, weights + last);
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
    const double* weight = weights + (1 + static_cast<std::int64_t>(x.indices[e])) * all_outputs;
    const VFew value = hn::Set(d, x.values[e]);
    for (int v = 0; v < kVectors - 1; ++v) {
      sum[v] = hn::Add(sum[v], hn::Mul(value, hn::LoadU(d, weight + v * lanes)));
    }
    sum[kVectors - 1] = hn::Add(sum[kVectors - 1], hn::Mul(value, hn::LoadU(d, weight + last)));
  }
  for (int v = 0; v < kVectors - 1; ++v) hn::StoreU(sum[v], d, out + v * lanes);
  hn::StoreU(sum[kVectors - 1], d, out + last);
}

// The same with less than a vector of outputs.
HWY_INLINE void row_scores_of_few(const SparseContext& x, int row, const double* weights, int all_outputs, int outputs,
                                  double* out) {
  for (int k = 0; k < outputs; ++k) out[k] = weights[k];
  for (std::int64_t e = x.indptr[row]; e < x.indptr[row + 1]; ++e) {
    const double* weight = weights + (1 + static_cast<std::int64_t>(x.indices[e])) * all_outputs;
    for (int k = 0; k < outputs; ++k) out[k] += x.values[e] * weight[k];
  }
}

// Outputs [0, outputs), at most kTileOutputs, of rows [first_row, first_row + rows).
template <int kVectors>
void tile_scores(const SparseContext& x, int first_row, int rows, const double* weights, int all_outputs, int outputs,
                 double* out, std::int64_t stride) {
  double tile[kLineRows][kTileOutputs];
  for (int i = 0; i < rows; i += kLineRows) {
    const int line = std::min(kLineRows, rows - i);
    for (int r = 0; r < line; ++r) {
      if constexpr (kVectors == 0) {
        row_scores_of_few(x, first_row + i + r, weights, all_outputs, outputs, tile[r]);
      } else {
        row_scores<kVectors>(x, first_row + i + r, weights, all_outputs, outputs, tile[r]);
      }
    }
    for (int k = 0; k < outputs; ++k) {
      for (int r = 0; r < line; ++r) out[k * stride + i + r] = tile[r][k];
    }
  }
}

using TileScores = void (*)(const SparseContext&, int, int, const double*, int, int, double*, std::int64_t);

void sparse_scores_impl(const Block& block, const double* weights, int all_outputs, const ScoreRange& range) {
  constexpr TileScores kByVectors[kMaxVectors + 1] = {tile_scores<0>, tile_scores<1>, tile_scores<2>,
                                                      tile_scores<3>, tile_scores<4>, tile_scores<5>,
                                                      tile_scores<6>, tile_scores<7>, tile_scores<8>};
  const int lanes = static_cast<int>(hn::Lanes(Few()));
  const int rows = std::min(range.rows, block.rows - range.first_row);
  for (int k = 0; k < range.outputs;) {
    const int outputs = std::min(kMaxVectors * lanes, range.outputs - k);
    const int vectors = outputs < lanes ? 0 : (outputs + lanes - 1) / lanes;
    kByVectors[vectors](block.sparse, range.first_row, rows, weights + range.first_output + k, all_outputs, outputs,
                        range.out + k * range.stride, range.stride);
    k += outputs;
  }
}

// Columns whose coefficients for a few rows stay in the first-level cache, row by row.
constexpr int kTileColumns = 128;

HWY_INLINE void add_scaled(const double* from, double by, int count, double* to) {
  const Few d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const VFew factor = hn::Set(d, by);
  int c = 0;
  for (; c + lanes <= count; c += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, to + c), hn::Mul(factor, hn::LoadU(d, from + c))), d, to + c);
  }
  for (; c < count; ++c) to[c] += by * from[c];
}

void add_sparse_context_products_impl(const Block& block, const double* coefficients, int columns, double* out) {
  const SparseContext& x = block.sparse;
  double tile[kLineRows][kTileColumns];
  for (int first = 0; first < columns; first += kTileColumns) {
    const int count = std::min(kTileColumns, columns - first);
    for (int i = 0; i < block.rows; i += kLineRows) {
      const int line = std::min(kLineRows, block.rows - i);
      for (int c = 0; c < count; ++c) {
        const double* column = coefficients + static_cast<std::int64_t>(first + c) * kBlockRows + i;
        for (int r = 0; r < line; ++r) tile[r][c] = column[r];
      }
      for (int r = 0; r < line; ++r) {
        for (std::int64_t e = x.indptr[i + r]; e < x.indptr[i + r + 1]; ++e) {
          double* row = out + static_cast<std::int64_t>(x.indices[e]) * columns + first;
          add_scaled(tile[r], x.values[e], count, row);
        }
      }
    }
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(sparse_scores_impl);
HWY_EXPORT(add_sparse_context_products_impl);

void sparse_scores(const Block& block, const double* weights, int all_outputs, const ScoreRange& range) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr != nullptr && weights != nullptr && range.out != nullptr);
  assert(range.outputs >= 1 && range.first_output + range.outputs <= all_outputs);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(sparse_scores_impl)(block, weights, all_outputs, range);
}

void add_sparse_context_products(const Block& block, const double* coefficients, int columns, double* out) noexcept {
  assert(has_valid_context(block) && block.sparse.indptr != nullptr);
  assert(coefficients != nullptr && columns >= 1 && out != nullptr);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(add_sparse_context_products_impl)(block, coefficients, columns, out);
}

}  // namespace scrm
#endif
