/// Kernel ridge by its dual: the formulas on rows, one Cholesky factor or eigen decomposition of the kernel matrix.
/// Twice removed from the solvers in feature space, and fast enough for more rows than the textbook in long double.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>
#include <span>

#include "support/reference/kernel_reference.hpp"

namespace scrm::testing {

inline Eigen::MatrixXd kernel_matrix_in_double(const StateKernel& kernel, std::span<const double> a,
                                               std::span<const double> b) {
  const LongMatrix values = kernel_matrix(kernel, a, b);
  Eigen::MatrixXd out(values.rows, values.cols);
  for (std::size_t i = 0; i < values.rows; ++i) {
    for (std::size_t j = 0; j < values.cols; ++j) {
      out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = static_cast<double>(values(i, j));
    }
  }
  return out;
}

/// For λ = 0 the pseudo-inverse of K without eigenvalues that are rounding, and no widths.
inline RidgeAnswers dual_ridge(const StateKernel& kernel, double lambda, const RidgeRows& rows,
                               std::span<const double> queries) {
  const Eigen::MatrixXd matrix = kernel_matrix_in_double(kernel, rows.states, rows.states);
  const Eigen::MatrixXd across = kernel_matrix_in_double(kernel, rows.states, queries);
  const Eigen::Map<const Eigen::VectorXd> y(rows.y.data(), std::ssize(rows.y));
  const auto count = static_cast<std::size_t>(across.cols());
  RidgeAnswers out{std::vector<double>(count, 0.0), std::vector<double>(count, 0.0)};
  Eigen::Map<Eigen::VectorXd> mean(out.mean.data(), across.cols());
  if (y.size() == 0) return out;
  if (lambda == 0) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(matrix);
    const Eigen::VectorXd& values = eigen.eigenvalues();
    const double cutoff =
        values.maxCoeff() * static_cast<double>(y.size()) * 4 * std::numeric_limits<double>::epsilon();
    const Eigen::VectorXd inverse = values.unaryExpr([&](double v) { return v > cutoff ? 1 / v : 0.0; });
    const Eigen::VectorXd along = eigen.eigenvectors().transpose() * y;
    mean = across.transpose() * (eigen.eigenvectors() * inverse.cwiseProduct(along));
    return out;
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(matrix + lambda * Eigen::MatrixXd::Identity(y.size(), y.size()));
  mean = across.transpose() * factor.solve(y);
  const Eigen::MatrixXd half = factor.matrixL().solve(across);
  for (std::size_t i = 0; i < count; ++i) {
    const double* s = queries.data() + static_cast<std::int64_t>(i) * kernel.state_size();
    const auto own = static_cast<double>(kernel_value(kernel, s, s));
    out.width[i] = std::sqrt((own - half.col(static_cast<Eigen::Index>(i)).squaredNorm()) / lambda);
  }
  return out;
}

}  // namespace scrm::testing
