#include "regression/context_power.hpp"

#include <algorithm>
#include <vector>

namespace scrm {

namespace {

StateKernel power_kernel(std::int64_t features, int degree) {
  return {.kind = KernelKind::polynomial, .features = features - 1, .degree = degree};
}

/// Monomials there are.
std::int64_t monomials(std::int64_t features, int degree) {
  return degree == 0 || features == 0 ? 1 : feature_dimension(power_kernel(features, degree)).value_or(1);
}

}  // namespace

ContextPower::ContextPower(std::int64_t features, int degree, std::int64_t points)
    : kernel_(power_kernel(features, degree)), degree_(degree), dimension_(monomials(features, degree)) {
  if (degree < 2 || features == 0) return;
  if (dimension_ <= points) {
    monomials_.emplace(kernel_);
  } else {
    points_.emplace(kernel_, points);
  }
}

std::int64_t ContextPower::max_dimension(std::int64_t features, int degree, std::int64_t points) noexcept {
  const std::int64_t all = monomials(features, degree);
  return degree < 2 ? all : std::min(all, points);
}

double ContextPower::bytes_needed(std::int64_t features, int degree, std::int64_t points, std::int64_t rows) noexcept {
  const std::int64_t all = monomials(features, degree);
  if (degree < 2 || all <= points) return 64.0 * static_cast<double>(all);
  return InducingPoints::bytes_needed(features, points, rows);
}

bool ContextPower::extend(std::span<const double> contexts, std::int64_t count, double tolerance, double noise) {
  return points_ && points_->extend(contexts, count, tolerance, noise);
}

void ContextPower::fill(const double* contexts, int n, double* out, std::int64_t leading) const {
  if (points_) return points_->fill(contexts, n, out, leading);
  if (monomials_) {
    std::vector<double> columns(static_cast<std::size_t>(dimension_ * n));
    monomials_->fill(contexts, n, columns.data());
    for (int i = 0; i < n; ++i) std::copy_n(columns.data() + i * dimension_, dimension_, out + i * leading);
    return;
  }
  // (1, x), or 1 alone.
  for (int i = 0; i < n; ++i) {
    out[i * leading] = 1;
    std::copy_n(contexts + i * kernel_.width(), dimension_ - 1, out + i * leading + 1);
  }
}

double ContextPower::own(const double* context) const {
  double value = 1;
  if (degree_ > 0) kernel_diagonal(kernel_, context, 1, &value);
  return value;
}

std::size_t ContextPower::bytes() const noexcept {
  return (monomials_ ? monomials_->bytes() : 0) + (points_ ? points_->bytes() : 0);
}

}  // namespace scrm
