#include "regression/design_matrix.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Rows that go into one rank update: enough to keep the matrix product at full speed, few enough to stay in cache.
constexpr std::int64_t kGramRows = 256;

void check_finite(const LabelledData& data, std::int64_t row, std::int64_t feature, double value) {
  if (std::isfinite(value)) return;
  throw Error(ErrorKind::data, fmt::format("feature {} is {}: leave the row out or repair the value", feature, value),
              {.file = data.name, .dataset = "context", .row = row});
}

/// Four sums at a time: one would wait for itself at every addition.
double sparse_dot(const double* values, const std::int32_t* indices, std::int64_t count, const double* dense) {
  double sum[4] = {};
  std::int64_t e = 0;
  for (; e + 4 <= count; e += 4) {
    for (int k = 0; k < 4; ++k) sum[k] += values[e + k] * dense[indices[e + k]];
  }
  for (; e < count; ++e) sum[0] += values[e] * dense[indices[e]];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

}  // namespace

DesignMatrix::DesignMatrix(const LabelledData& data, std::span<const std::int64_t> rows)
    : rows_(static_cast<std::int64_t>(rows.size())), features_(data.features), sparse_(data.sparse) {
  for (const std::int64_t row : rows) {
    if (row >= 0 && row < data.rows) continue;
    throw Error(ErrorKind::usage, fmt::format("row {} was asked for, and there are {} rows", row, data.rows),
                {.file = data.name});
  }
  if (sparse_) {
    gather_sparse(data, rows);
  } else {
    gather_dense(data, rows);
  }
}

void DesignMatrix::gather_dense(const LabelledData& data, std::span<const std::int64_t> rows) {
  dense_.resize(static_cast<std::size_t>(rows_ * features_));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double* from = data.context.data() + rows[i] * features_;
    for (std::int64_t j = 0; j < features_; ++j) check_finite(data, rows[i], j, from[j]);
    std::copy_n(from, features_, dense_.data() + static_cast<std::int64_t>(i) * features_);
  }
}

void DesignMatrix::gather_sparse(const LabelledData& data, std::span<const std::int64_t> rows) {
  indptr_.push_back(0);
  for (const std::int64_t row : rows) {
    for (std::int64_t e = data.indptr[static_cast<std::size_t>(row)];
         e < data.indptr[static_cast<std::size_t>(row) + 1]; ++e) {
      const auto entry = static_cast<std::size_t>(e);
      check_finite(data, row, data.indices[entry], data.values[entry]);
      indices_.push_back(data.indices[entry]);
      values_.push_back(data.values[entry]);
    }
    indptr_.push_back(static_cast<std::int64_t>(indices_.size()));
  }
  gather_columns();
}

void DesignMatrix::gather_columns() {
  column_.assign(static_cast<std::size_t>(features_) + 1, 0);
  for (const std::int32_t j : indices_) ++column_[static_cast<std::size_t>(j) + 1];
  std::partial_sum(column_.begin(), column_.end(), column_.begin());
  column_rows_.resize(indices_.size());
  column_values_.resize(indices_.size());
  std::vector<std::int64_t> next(column_.begin(), column_.end() - 1);
  for (std::int64_t i = 0; i < rows_; ++i) {
    for (std::int64_t e = indptr_[static_cast<std::size_t>(i)]; e < indptr_[static_cast<std::size_t>(i) + 1]; ++e) {
      const auto entry = static_cast<std::size_t>(e);
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(indices_[entry])]++);
      column_rows_[to] = static_cast<std::int32_t>(i);
      column_values_[to] = values_[entry];
    }
  }
}

void DesignMatrix::scores(const double* beta, double* out) const {
  std::fill_n(out, rows_, beta[0]);
  if (features_ == 0 || rows_ == 0) return;
  if (!sparse_) {
    const int n = static_cast<int>(rows_), d = static_cast<int>(features_);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, n, d, 1.0, dense_.data(), d, beta + 1, 1, 1.0, out, 1);
    return;
  }
  for (std::int64_t i = 0; i < rows_; ++i) {
    const std::int64_t begin = indptr_[static_cast<std::size_t>(i)], end = indptr_[static_cast<std::size_t>(i) + 1];
    out[i] += sparse_dot(values_.data() + begin, indices_.data() + begin, end - begin, beta + 1);
  }
}

void DesignMatrix::transposed_product(const double* r, double* out) const {
  out[0] = std::accumulate(r, r + rows_, 0.0);
  std::fill_n(out + 1, features_, 0.0);
  if (features_ == 0 || rows_ == 0) return;
  if (!sparse_) {
    const int n = static_cast<int>(rows_), d = static_cast<int>(features_);
    cblas_dgemv(CblasRowMajor, CblasTrans, n, d, 1.0, dense_.data(), d, r, 1, 0.0, out + 1, 1);
    return;
  }
  for (std::int64_t j = 0; j < features_; ++j) {
    const std::int64_t begin = column_[static_cast<std::size_t>(j)], end = column_[static_cast<std::size_t>(j) + 1];
    out[1 + j] = sparse_dot(column_values_.data() + begin, column_rows_.data() + begin, end - begin, r);
  }
}

void DesignMatrix::weighted_squares(const double* w, double* out) const {
  out[0] = std::accumulate(w, w + rows_, 0.0);
  std::fill_n(out + 1, features_, 0.0);
  for (std::int64_t i = 0; i < rows_; ++i) {
    if (w[i] == 0) continue;
    if (!sparse_) {
      const double* x = dense_.data() + i * features_;
      for (std::int64_t j = 0; j < features_; ++j) out[1 + j] += w[i] * x[j] * x[j];
      continue;
    }
    for (std::int64_t e = indptr_[static_cast<std::size_t>(i)]; e < indptr_[static_cast<std::size_t>(i) + 1]; ++e) {
      const double x = values_[static_cast<std::size_t>(e)];
      out[1 + indices_[static_cast<std::size_t>(e)]] += w[i] * x * x;
    }
  }
}

void DesignMatrix::weighted_gram(const double* w, double* out) const {
  std::fill_n(out, width() * width(), 0.0);
  if (sparse_) {
    sparse_gram(w, out);
  } else {
    dense_gram(w, out);
  }
}

void DesignMatrix::dense_gram(const double* w, double* out) const {
  const int d = static_cast<int>(width());
  std::vector<double> scaled(static_cast<std::size_t>(kGramRows * width()));
  int filled = 0;
  const auto flush = [&] {
    if (filled > 0) cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, d, filled, 1.0, scaled.data(), d, 1.0, out, d);
    filled = 0;
  };
  for (std::int64_t i = 0; i < rows_; ++i) {
    if (w[i] == 0) continue;
    const double root = std::sqrt(w[i]);
    const double* x = dense_.data() + i * features_;
    double* to = scaled.data() + static_cast<std::int64_t>(filled) * width();
    to[0] = root;
    for (std::int64_t j = 0; j < features_; ++j) to[1 + j] = root * x[j];
    if (++filled == kGramRows) flush();
  }
  flush();
}

void DesignMatrix::sparse_gram(const double* w, double* out) const {
  const std::int64_t d = width();
  for (std::int64_t i = 0; i < rows_; ++i) {
    if (w[i] == 0) continue;
    out[0] += w[i];
    const std::int64_t end = indptr_[static_cast<std::size_t>(i) + 1];
    for (std::int64_t e = indptr_[static_cast<std::size_t>(i)]; e < end; ++e) {
      const std::int64_t index = 1 + indices_[static_cast<std::size_t>(e)];
      const double value = w[i] * values_[static_cast<std::size_t>(e)];
      out[index] += value;
      // Indices ascend within a row, so what follows stands below in the same column.
      double* column = out + index * d;
      for (std::int64_t f = e; f < end; ++f) {
        column[1 + indices_[static_cast<std::size_t>(f)]] += value * values_[static_cast<std::size_t>(f)];
      }
    }
  }
}

}  // namespace scrm
