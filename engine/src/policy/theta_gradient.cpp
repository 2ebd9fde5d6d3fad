#include "policy/theta_gradient.hpp"

#include <cblas.h>

#include <algorithm>

#include "policy/context_panel.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/scores/sparse_contexts.hpp"

namespace scrm {
namespace {

void sparse_linear(const Block& block, const double* coefficients, int columns, PolicyScratch& scratch, double* out) {
  const std::int64_t features = block.features;
  const std::int64_t cells = features * columns;
  double* by_feature = scratch.columns(kProductSlot, cells / kBlockRows + 1);
  std::fill_n(by_feature, cells, 0.0);
  add_sparse_context_products(block, coefficients, columns, by_feature);
  for (int c = 0; c < columns; ++c) {
    for (std::int64_t j = 0; j < features; ++j) out[c * (features + 1) + 1 + j] = by_feature[j * columns + c];
  }
}

void sparse_quadratic(const Block& block, const double* coefficients, int columns, double* out) {
  const SparseContext& x = block.sparse;
  const std::int64_t d = block.features;
  const std::int64_t length = 1 + mapped_features(FeatureMap::quadratic, d);
  for (int c = 0; c < columns; ++c) std::fill_n(out + c * length + 1, length - 1, 0.0);
  for (int i = 0; i < block.rows; ++i) {
    for (std::int64_t e = x.indptr[i]; e < x.indptr[i + 1]; ++e) {
      for (int c = 0; c < columns; ++c) {
        const double coefficient = coefficients[static_cast<std::int64_t>(c) * kBlockRows + i];
        double* row = out + c * length + 1;
        row[x.indices[e]] += coefficient * x.values[e];
        for (std::int64_t f = e; f < x.indptr[i + 1]; ++f) {
          const std::int64_t j = std::min(x.indices[e], x.indices[f]), k = std::max(x.indices[e], x.indices[f]);
          const double times = e != f && j == k ? 2.0 : 1.0;  // a repeated index stands for the sum of its values
          row[d + quadratic_index(j, k, d)] += times * coefficient * x.values[e] * x.values[f];
        }
      }
    }
  }
}

void dense_by_panels(const Block& block, FeatureMap map, const double* coefficients, int columns,
                     PolicyScratch& scratch, double* out) {
  const std::int64_t width = mapped_features(map, block.features);
  for (std::int64_t first = 0; first < width; first += kPanelColumns) {
    const std::int64_t count = std::min(kPanelColumns, width - first);
    const double* panel = context_panel(block, first, count, scratch);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, static_cast<int>(count), columns, kBlockRows, 1.0, panel,
                kBlockRows, coefficients, kBlockRows, 0.0, out + 1 + first, static_cast<int>(width + 1));
  }
}

/// out[c length] = the sum of column c, row by row. kTogether columns side by side: one would wait for every addition.
template <int kTogether>
void column_sums(const double* coefficients, int columns, int rows, double* out, std::int64_t length) {
  int c = 0;
  for (; c + kTogether <= columns; c += kTogether) {
    const double* first = coefficients + static_cast<std::int64_t>(c) * kBlockRows;
    double sums[kTogether] = {};
    for (int i = 0; i < rows; ++i) {
      for (int k = 0; k < kTogether; ++k) sums[k] += first[k * kBlockRows + i];
    }
    for (int k = 0; k < kTogether; ++k) out[(c + k) * length] = sums[k];
  }
  if constexpr (kTogether > 1) {
    const double* rest = coefficients + static_cast<std::int64_t>(c) * kBlockRows;
    column_sums<kTogether / 2>(rest, columns - c, rows, out + c * length, length);
  }
}

/// Coefficients of rows that share a context are added up first: the products then go over contexts.
void replayed(const Block& block, const double* coefficients, int columns, PolicyScratch& scratch, double* out) {
  const int contexts = kBlockRows / block.replays;
  double* once = scratch.columns(kPanelSlot, columns);
  for (int c = 0; c < columns; ++c) {
    const double* from = coefficients + static_cast<std::int64_t>(c) * kBlockRows;
    double* to = once + static_cast<std::int64_t>(c) * kBlockRows;
    for (int i = 0; i < contexts; ++i) {
      double sum = 0;
      for (int r = 0; r < block.replays; ++r) sum += from[i * block.replays + r];
      to[i] = sum;
    }
  }
  shared_context_gradient(block, once, columns, scratch, out);
}

}  // namespace

void column_totals(const double* coefficients, int columns, std::int64_t stride, double* out) {
  for (int c = 0; c < columns; ++c) {
    const double* column = coefficients + static_cast<std::int64_t>(c) * kBlockRows;
    double sum[8] = {};
    for (int i = 0; i < kBlockRows; i += 8) {
      for (int j = 0; j < 8; ++j) sum[j] += column[i + j];
    }
    out[c * stride] = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
  }
}

void shared_context_gradient(const Block& block, const double* coefficients, int columns, PolicyScratch& scratch,
                             double* out) {
  const int contexts = context_rows(block);
  const auto length = static_cast<int>(block.features + 1);
  column_sums<4>(coefficients, columns, contexts, out, length);
  if (block.features == 0) return;
  if (block.sparse.indptr != nullptr)
    return sparse_linear(distinct_contexts(block), coefficients, columns, scratch, out);
  if (has_context_matrix(block)) return context_products(valid_contexts(block), coefficients, columns, out + 1, length);
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, length - 1, columns, contexts, 1.0,
              static_cast<const double*>(block.context), static_cast<int>(context_stride(block.replays)), coefficients,
              kBlockRows, 0.0, out + 1, length);
}

void theta_gradient(const Block& block, FeatureMap map, const double* coefficients, int columns, PolicyScratch& scratch,
                    double* out) {
  if (block.replays > 1) return replayed(block, coefficients, columns, scratch, out);
  column_totals(coefficients, columns, 1 + mapped_features(map, block.features), out);
  if (block.features == 0) return;
  if (block.sparse.indptr != nullptr) {
    if (map == FeatureMap::linear) return sparse_linear(block, coefficients, columns, scratch, out);
    return sparse_quadratic(block, coefficients, columns, out);
  }
  if (map == FeatureMap::linear) {
    return context_products(context_matrix(block), coefficients, columns, out + 1, block.features + 1);
  }
  dense_by_panels(block, map, coefficients, columns, scratch, out);
}

}  // namespace scrm
