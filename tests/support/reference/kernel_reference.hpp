/// Kernel ridge by the textbook, in long double, and random states to try it on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "scrm/engine/regression/kernel_ridge.hpp"

namespace scrm::testing {

/// Plain loops in long double: a matrix library would take longer to compile than these take to run.
struct LongMatrix {
  std::size_t rows = 0, cols = 0;
  std::vector<long double> cells = std::vector<long double>(rows * cols, 0.0L);

  long double& operator()(std::size_t i, std::size_t j) { return cells[i * cols + j]; }
  long double operator()(std::size_t i, std::size_t j) const { return cells[i * cols + j]; }
};

using LongVector = std::vector<long double>;

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
  for (std::int64_t j = 0; j < kernel.state_size(); ++j) {
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
  const auto w = static_cast<std::size_t>(kernel.state_size());
  LongMatrix out{a.size() / w, b.size() / w};
  for (std::size_t i = 0; i < out.rows; ++i) {
    for (std::size_t j = 0; j < out.cols; ++j) out(i, j) = kernel_value(kernel, a.data() + i * w, b.data() + j * w);
  }
  return out;
}

/// Solves for a symmetric positive definite matrix and any right-hand sides.
class LongSolver {
 public:
  virtual ~LongSolver() = default;
  virtual LongVector solve(const LongVector& b) const = 0;
};

class LongCholesky : public LongSolver {
 public:
  explicit LongCholesky(LongMatrix matrix) : l_(std::move(matrix)) {
    for (std::size_t j = 0; j < l_.rows; ++j) {
      for (std::size_t i = j; i < l_.rows; ++i) {
        long double sum = l_(i, j);
        for (std::size_t k = 0; k < j; ++k) sum -= l_(i, k) * l_(j, k);
        l_(i, j) = i == j ? std::sqrt(sum) : sum / l_(j, j);
      }
    }
  }

  LongVector solve(const LongVector& b) const override {
    LongVector x = b;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= l_(i, k) * x[k];
      x[i] /= l_(i, i);
    }
    for (std::size_t i = x.size(); i-- > 0;) {
      for (std::size_t k = i + 1; k < x.size(); ++k) x[i] -= l_(k, i) * x[k];
      x[i] /= l_(i, i);
    }
    return x;
  }

 private:
  LongMatrix l_;
};

/// Eigenvectors by Jacobi's rotations; what lies along eigenvalues below 1e-15 of the largest is left out.
class LongPseudoInverse : public LongSolver {
 public:
  explicit LongPseudoInverse(LongMatrix matrix) : values_(std::move(matrix)), vectors_{values_.rows, values_.rows} {
    const std::size_t n = values_.rows;
    for (std::size_t i = 0; i < n; ++i) vectors_(i, i) = 1;
    for (int sweep = 0; sweep < 60; ++sweep) {
      long double off = 0, on = 0;
      for (std::size_t p = 0; p < n; ++p) {
        on += values_(p, p) * values_(p, p);
        for (std::size_t q = p + 1; q < n; ++q) off += values_(p, q) * values_(p, q);
      }
      if (off <= 1e-38L * on) return;
      for (std::size_t p = 0; p < n; ++p) {
        for (std::size_t q = p + 1; q < n; ++q) rotate(p, q);
      }
    }
  }

  LongVector solve(const LongVector& b) const override {
    const std::size_t n = b.size();
    long double largest = 0;
    for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, values_(j, j));
    LongVector x(n, 0.0L);
    for (std::size_t j = 0; j < n; ++j) {
      if (values_(j, j) <= 1e-15L * largest) continue;
      long double along = 0;
      for (std::size_t i = 0; i < n; ++i) along += vectors_(i, j) * b[i];
      for (std::size_t i = 0; i < n; ++i) x[i] += vectors_(i, j) * along / values_(j, j);
    }
    return x;
  }

 private:
  void rotate(std::size_t p, std::size_t q) {
    if (values_(p, q) == 0) return;
    const long double theta = (values_(q, q) - values_(p, p)) / (2 * values_(p, q));
    const long double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const long double c = 1 / std::sqrt(t * t + 1), s = t * c;
    for (std::size_t k = 0; k < values_.rows; ++k) {
      const long double a = values_(k, p), b = values_(k, q);
      values_(k, p) = c * a - s * b;
      values_(k, q) = s * a + c * b;
      const long double u = vectors_(k, p), v = vectors_(k, q);
      vectors_(k, p) = c * u - s * v;
      vectors_(k, q) = s * u + c * v;
    }
    for (std::size_t k = 0; k < values_.rows; ++k) {
      const long double a = values_(p, k), b = values_(q, k);
      values_(p, k) = c * a - s * b;
      values_(q, k) = s * a + c * b;
    }
  }

  LongMatrix values_, vectors_;
};

struct RidgeAnswers {
  std::vector<double> mean, width;
};

/// The formulas as written: (K + λI)⁻¹ by Cholesky, or for λ = 0 by the pseudo-inverse of K, widths then 0.
inline RidgeAnswers textbook(const StateKernel& kernel, double lambda, const RidgeRows& rows,
                             std::span<const double> queries) {
  const LongMatrix across = kernel_matrix(kernel, queries, rows.states);
  LongMatrix matrix = kernel_matrix(kernel, rows.states, rows.states);
  for (std::size_t i = 0; i < matrix.rows; ++i) matrix(i, i) += lambda;
  std::unique_ptr<LongSolver> inverse;
  if (lambda > 0) {
    inverse = std::make_unique<LongCholesky>(matrix);
  } else {
    inverse = std::make_unique<LongPseudoInverse>(matrix);
  }
  const LongVector alpha = inverse->solve({rows.y.begin(), rows.y.end()});
  RidgeAnswers out;
  for (std::size_t j = 0; j < across.rows; ++j) {
    const LongVector k(across.cells.begin() + static_cast<std::ptrdiff_t>(j * across.cols),
                       across.cells.begin() + static_cast<std::ptrdiff_t>((j + 1) * across.cols));
    out.mean.push_back(static_cast<double>(std::inner_product(k.begin(), k.end(), alpha.begin(), 0.0L)));
    out.width.push_back(0);
    if (lambda == 0) continue;
    const double* s = queries.data() + static_cast<std::int64_t>(j) * kernel.state_size();
    const LongVector solved = inverse->solve(k);
    const long double left = kernel_value(kernel, s, s) - std::inner_product(k.begin(), k.end(), solved.begin(), 0.0L);
    out.width.back() = static_cast<double>(std::sqrt(left / lambda));
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
