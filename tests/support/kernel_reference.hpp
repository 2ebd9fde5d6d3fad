/// Kernel ridge by the textbook, in long double, and random states to try it on.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "scrm/engine/kernel_ridge.hpp"

namespace scrm::testing {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

struct RidgeRows {
  std::vector<double> states, y;
};

/// Contexts standard normal, one action between −2 and 2, or as many bits as the kernel's action has.
inline RidgeRows ridge_rows(const StateKernel& kernel, std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-2, 2);
  RidgeRows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < kernel.features; ++j) {
      rows.states.push_back(normal(random));
      sum += rows.states.back() / static_cast<double>(1 + j);
    }
    for (std::int64_t k = 0; k < kernel.actions; ++k) {
      const double a = uniform(random);
      rows.states.push_back(kernel.kind != KernelKind::bits ? a : a > 0 ? 1.0 : 0.0);
      sum += std::cos(rows.states.back() * (1 + sum));
    }
    rows.y.push_back(sum + 0.3 * normal(random));
  }
  return rows;
}

inline long double kernel_value(const StateKernel& kernel, const double* s, const double* t) {
  long double context = 0, action = 0, distance = 0;
  for (std::int64_t j = 0; j < kernel.width(); ++j) {
    const long double a = s[j], b = t[j];
    (j < kernel.features ? context : action) += a * b;
    distance += (a - b) * (a - b);
  }
  switch (kernel.kind) {
    case KernelKind::linear:
      return context + action + 1;
    case KernelKind::polynomial:
      return std::pow(context + action + 1, static_cast<long double>(kernel.degree));
    case KernelKind::gaussian:
      return std::exp(-distance / (2 * static_cast<long double>(kernel.length) * kernel.length));
    case KernelKind::bits:
      return (context + 1) * (action + 1);
  }
  return 0;
}

inline LongMatrix kernel_matrix(const StateKernel& kernel, std::span<const double> a, std::span<const double> b) {
  const std::int64_t w = kernel.width();
  LongMatrix out(static_cast<std::int64_t>(a.size()) / w, static_cast<std::int64_t>(b.size()) / w);
  for (Eigen::Index i = 0; i < out.rows(); ++i) {
    for (Eigen::Index j = 0; j < out.cols(); ++j) out(i, j) = kernel_value(kernel, a.data() + i * w, b.data() + j * w);
  }
  return out;
}

struct RidgeAnswers {
  std::vector<double> mean, width;
};

/// The formulas as written: (K + λI)⁻¹ by Cholesky, or for λ = 0 by the pseudo-inverse of K, widths then 0.
inline RidgeAnswers textbook(const StateKernel& kernel, double lambda, const RidgeRows& rows,
                             std::span<const double> queries) {
  const LongMatrix across = kernel_matrix(kernel, rows.states, queries);
  LongMatrix matrix = kernel_matrix(kernel, rows.states, rows.states);
  LongVector y(static_cast<Eigen::Index>(rows.y.size()));
  for (Eigen::Index i = 0; i < y.size(); ++i) y[i] = rows.y[static_cast<std::size_t>(i)];
  LongMatrix inverse;
  if (lambda > 0) {
    matrix.diagonal().array() += static_cast<long double>(lambda);
    inverse = matrix.llt().solve(LongMatrix::Identity(y.size(), y.size()));
  } else {
    const Eigen::SelfAdjointEigenSolver<LongMatrix> eigen(matrix);
    LongVector reciprocal = eigen.eigenvalues();
    const long double cutoff = reciprocal.maxCoeff() * 1e-15L;
    for (long double& e : reciprocal) e = e > cutoff ? 1 / e : 0;
    inverse = eigen.eigenvectors() * reciprocal.asDiagonal() * eigen.eigenvectors().transpose();
  }
  const LongVector mean = across.transpose() * (inverse * y);
  RidgeAnswers out;
  for (Eigen::Index j = 0; j < mean.size(); ++j) {
    out.mean.push_back(static_cast<double>(mean[j]));
    const double* s = queries.data() + j * kernel.width();
    const long double left = kernel_value(kernel, s, s) - across.col(j).dot(inverse * across.col(j));
    out.width.push_back(lambda > 0 ? static_cast<double>(std::sqrt(left / lambda)) : 0.0);
  }
  return out;
}

inline RidgeAnswers answers(const KernelRidge& ridge, std::span<const double> queries, std::int64_t width) {
  RidgeAnswers out;
  out.mean.resize(queries.size() / static_cast<std::size_t>(width));
  out.width.resize(out.mean.size());
  ridge.mean_and_width(queries, out.mean, out.width);
  return out;
}

/// Largest difference, relative to the largest number of the two.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0, scale = 1e-300;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    scale = std::max({scale, std::abs(a[i]), std::abs(b[i])});
  }
  return a.size() == b.size() ? most / scale : INFINITY;
}

}  // namespace scrm::testing
