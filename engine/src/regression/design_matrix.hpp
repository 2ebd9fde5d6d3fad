/// DesignMatrix: chosen rows of a labelled data set, gathered for the products that regressions are made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scrm/io/labelled/labelled_data.hpp"

namespace scrm {

/// Every row has a leading 1, the intercept's feature, that is not stored. Vectors over features have 1 + features
/// entries; vectors over rows have one entry a row.
class DesignMatrix {
 public:
  /// Throws Error where a row does not exist or a feature is not finite.
  DesignMatrix(const LabelledData& data, std::span<const std::int64_t> rows);

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t width() const noexcept { return 1 + features_; }

  /// out_i = β · (1, x_i).
  void scores(const double* beta, double* out) const;
  /// out = Σ_i r_i (1, x_i).
  void transposed_product(const double* r, double* out) const;
  /// out = Σ_i w_i (1, x_i)², entry by entry, for w ≥ 0.
  void weighted_squares(const double* w, double* out) const;
  /// Lower triangle of Σ_i w_i (1, x_i)(1, x_i)ᵀ for w ≥ 0, column-major.
  void weighted_gram(const double* w, double* out) const;

 private:
  void gather_dense(const LabelledData& data, std::span<const std::int64_t> rows);
  void gather_sparse(const LabelledData& data, std::span<const std::int64_t> rows);
  void gather_columns();
  void dense_gram(const double* w, double* out) const;
  void sparse_gram(const double* w, double* out) const;

  std::int64_t rows_ = 0, features_ = 0;
  bool sparse_ = false;
  std::vector<double> dense_;  // row-major
  std::vector<std::int64_t> indptr_;
  std::vector<std::int32_t> indices_;
  std::vector<double> values_;
  // The same by feature, so that products gather rather than scatter.
  std::vector<std::int64_t> column_;
  std::vector<std::int32_t> column_rows_;
  std::vector<double> column_values_;
};

}  // namespace scrm
