#include "regression/kernel_ridge/kernel_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "regression/dense_algebra.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/kernels/vector/elementary.hpp"

namespace scrm {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  return a != 0 && b > kMost / a ? kMost : a * b;
}

/// C(n + p, p), the number of monomials of degree at most p in n variables.
std::int64_t monomials(std::int64_t n, int p) {
  std::int64_t count = 1;
  for (int i = 1; i <= p; ++i) {
    // Exact at every step: after it, count = C(n + i, i).
    const std::int64_t product = saturating_product(count, n + i);
    if (product == kMost) return kMost;
    count = product / i;
  }
  return count;
}

void gaussian_values(double length, const States& a, const States& b, Columns out) {
  // What is below 1e-304 would take the slow way to be no more.
  constexpr double kLeastExponent = -700;
  if (out.size() == 0) return;
  const Eigen::VectorXd origin = a.col(0);
  const Eigen::MatrixXd left = a.colwise() - origin, right = b.colwise() - origin;
  const Eigen::ArrayXd left_half = 0.5 * left.colwise().squaredNorm().transpose().array();
  set_product(left.transpose(), right, out);
  const double scale = 1 / (length * length);
  for (Eigen::Index j = 0; j < out.cols(); ++j) {
    auto column = out.col(j).array();
    const double right_half = 0.5 * right.col(j).squaredNorm();
    // Rounding may leave a distance below zero.
    column = (scale * (column - right_half - left_half)).max(kLeastExponent).min(0.0);
    exp_array(&out(0, j), &out(0, j), static_cast<int>(out.rows()));
  }
}

}  // namespace

int StateKernel::power() const noexcept {
  if (kind == KernelKind::linear) return 1;
  return kind == KernelKind::polynomial ? degree : 0;
}

void check(const StateKernel& kernel) {
  if (kernel.features < 0 || kernel.actions < 1) {
    throw Error(ErrorKind::usage, fmt::format("a state of {} features and {} numbers of an action: an action has at "
                                              "least one",
                                              kernel.features, kernel.actions));
  }
  if (kernel.kind == KernelKind::polynomial && kernel.degree < 1) {
    throw Error(ErrorKind::usage, fmt::format("the kernel's degree is {}: it must be at least 1", kernel.degree));
  }
  if (kernel.kind == KernelKind::gaussian && !(kernel.length > 0 && std::isfinite(kernel.length))) {
    throw Error(ErrorKind::usage, fmt::format("the kernel's length is {}: it must be above zero", kernel.length));
  }
}

void kernel_values(const StateKernel& kernel, const States& a, const States& b, Columns out) {
  if (kernel.kind == KernelKind::gaussian) return gaussian_values(kernel.length, a, b, out);
  if (kernel.kind == KernelKind::bits) {
    Eigen::MatrixXd actions(out.rows(), out.cols());
    set_product(a.topRows(kernel.features).transpose(), b.topRows(kernel.features), out);
    set_product(a.bottomRows(kernel.actions).transpose(), b.bottomRows(kernel.actions), actions);
    out.array() = (out.array() + 1) * (actions.array() + 1);
    return;
  }
  set_product(a.transpose(), b, out);
  out = out.unaryExpr([p = kernel.power()](double product) { return integer_power(product + 1, p); });
}

Eigen::VectorXd kernel_diagonal(const StateKernel& kernel, const States& states) {
  if (kernel.kind == KernelKind::gaussian) return Eigen::VectorXd::Ones(states.cols());
  if (kernel.kind == KernelKind::bits) {
    const auto plus_one = [](const auto& part) {
      return (part.colwise().squaredNorm().transpose().array() + 1).eval();
    };
    return plus_one(states.topRows(kernel.features)) * plus_one(states.bottomRows(kernel.actions));
  }
  return states.colwise().squaredNorm().transpose().unaryExpr(
      [p = kernel.power()](double square) { return integer_power(square + 1, p); });
}

std::optional<std::int64_t> feature_dimension(const StateKernel& kernel) {
  if (kernel.kind == KernelKind::gaussian) return std::nullopt;
  if (kernel.kind == KernelKind::bits) return saturating_product(1 + kernel.features, 1 + kernel.actions);
  return monomials(kernel.state_size(), kernel.power());
}

FiniteFeatures::FiniteFeatures(const StateKernel& kernel) : kernel_(kernel) {
  const std::optional<std::int64_t> dimension = feature_dimension(kernel);
  if (!dimension) throw Error(ErrorKind::usage, "the gaussian kernel has no finite feature map: use inducing points");
  if (*dimension > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::usage,
                fmt::format("a feature map of {} numbers is too long: use inducing points", *dimension));
  }
  dimension_ = *dimension;
  if (kernel.kind == KernelKind::bits) return;

  const int p = kernel.power();
  const auto variables = static_cast<std::int32_t>(kernel.state_size());
  parent_ = {0};
  variable_ = {0};
  std::vector<double> ways = {1};                // p! / ((p − degree)! Π (multiplicity of each variable)!)
  std::vector<std::int32_t> multiplicity = {0};  // of the last variable
  std::size_t begin = 0;
  for (int degree = 1; degree <= p; ++degree) {
    const std::size_t end = parent_.size();
    for (std::size_t m = begin; m < end; ++m) {
      for (std::int32_t v = variable_[m]; v < variables; ++v) {
        const bool again = degree > 1 && v == variable_[m];
        multiplicity.push_back(again ? multiplicity[m] + 1 : 1);
        ways.push_back(ways[m] * (p - degree + 1) / multiplicity.back());
        parent_.push_back(static_cast<std::int32_t>(m));
        variable_.push_back(v);
      }
    }
    begin = end;
  }
  weights_ = Eigen::Map<Eigen::ArrayXd>(ways.data(), dimension_).round().sqrt();
}

void FiniteFeatures::fill(const States& states, Columns out) const {
  if (kernel_.kind == KernelKind::bits) {
    const Eigen::MatrixXd x = with_ones(states.topRows(kernel_.features)),
                          a = with_ones(states.bottomRows(kernel_.actions));
    for (Eigen::Index i = 0; i < states.cols(); ++i) {
      out.col(i).reshaped(x.rows(), a.rows()) = x.col(i) * a.col(i).transpose();
    }
    return;
  }
  for (Eigen::Index i = 0; i < states.cols(); ++i) {
    const double* s = states.col(i).data();
    double* to = out.col(i).data();
    to[0] = 1;
    for (std::size_t m = 1; m < parent_.size(); ++m) to[m] = to[parent_[m]] * s[variable_[m]];
  }
  out.array().colwise() *= weights_.array();
}

}  // namespace scrm
