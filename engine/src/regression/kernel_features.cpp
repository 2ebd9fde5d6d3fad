#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scrm/engine/kernel_state.hpp"
#include "scrm/io/error.hpp"

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

double factorial(int n) {
  return std::tgamma(n + 1.0);
}

}  // namespace

std::optional<std::int64_t> feature_dimension(const StateKernel& kernel) {
  if (kernel.kind == KernelKind::gaussian) return std::nullopt;
  if (kernel.kind == KernelKind::bits) return saturating_product(1 + kernel.features, 1 + kernel.actions);
  return monomials(kernel.width(), kernel.power());
}

StateFeatures::StateFeatures(const StateKernel& kernel) : kernel_(kernel) {
  const std::optional<std::int64_t> dimension = feature_dimension(kernel);
  if (!dimension) throw Error(ErrorKind::usage, "the gaussian kernel has no finite feature map: use dual or nystroem");
  if (*dimension > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::usage,
                fmt::format("a feature map of {} numbers is too long: use dual or nystroem", *dimension));
  }
  dimension_ = *dimension;
  if (kernel.kind == KernelKind::bits) return;

  const int p = kernel.power();
  const std::int64_t variables = kernel.width() - 1;
  parent_ = {0};
  variable_ = {0};
  up_to_degree_ = {1};
  std::vector<double> repeats = {1};             // Π (multiplicity of each variable)!
  std::vector<std::int32_t> multiplicity = {0};  // of the last variable
  for (int degree = 1; degree <= p; ++degree) {
    const std::int64_t begin = degree == 1 ? 0 : up_to_degree_[static_cast<std::size_t>(degree) - 2];
    const std::int64_t end = up_to_degree_.back();
    for (std::int64_t m = begin; m < end; ++m) {
      const auto from = static_cast<std::size_t>(m);
      for (std::int64_t v = degree == 1 ? 0 : variable_[from]; v < variables; ++v) {
        const bool again = degree > 1 && v == variable_[from];
        multiplicity.push_back(again ? multiplicity[from] + 1 : 1);
        repeats.push_back(repeats[from] * multiplicity.back());
        parent_.push_back(static_cast<std::int32_t>(m));
        variable_.push_back(static_cast<std::int32_t>(v));
      }
    }
    up_to_degree_.push_back(static_cast<std::int64_t>(parent_.size()));
  }
  for (int q = 0; q <= p; ++q) {
    std::vector<double> weights;
    for (int degree = 0; degree + q <= p; ++degree) {
      const std::int64_t begin = degree == 0 ? 0 : up_to_degree_[static_cast<std::size_t>(degree) - 1];
      for (std::int64_t m = begin; m < up_to_degree_[static_cast<std::size_t>(degree)]; ++m) {
        const double ways =
            factorial(p) / (factorial(q) * factorial(p - q - degree) * repeats[static_cast<std::size_t>(m)]);
        weights.push_back(std::sqrt(std::round(ways)));
      }
    }
    weights_.push_back(std::move(weights));
  }
}

std::size_t StateFeatures::bytes() const noexcept {
  std::size_t count = 0;
  for (const auto& weights : weights_) count += weights.size();
  return count * sizeof(double) + 2 * parent_.size() * sizeof(std::int32_t);
}

void StateFeatures::fill_monomials(const double* context, double* out) const {
  out[0] = 1;
  for (std::size_t m = 1; m < parent_.size(); ++m) out[m] = out[parent_[m]] * context[variable_[m]];
}

void StateFeatures::fill(const double* states, int n, double* out) const {
  const std::int64_t width = kernel_.width(), d = kernel_.features;
  std::vector<double> monomial(parent_.size());
  for (int i = 0; i < n; ++i) {
    const double* s = states + i * width;
    double* to = out + i * dimension_;
    if (kernel_.kind == KernelKind::bits) {
      for (std::int64_t k = 0; k <= kernel_.actions; ++k) {
        const double bit = k == 0 ? 1.0 : s[d + k - 1];
        *to++ = bit;
        for (std::int64_t j = 0; j < d; ++j) *to++ = bit * s[j];
      }
      continue;
    }
    fill_monomials(s, monomial.data());
    double power = 1;
    for (const std::vector<double>& weights : weights_) {
      for (std::size_t m = 0; m < weights.size(); ++m) *to++ = power * weights[m] * monomial[m];
      power *= s[width - 1];
    }
  }
}

std::int64_t StateFeatures::power_begin(int q) const noexcept {
  std::int64_t begin = 0;
  for (int before = 0; before < q; ++before) begin += std::ssize(weights_[static_cast<std::size_t>(before)]);
  return begin;
}

void StateFeatures::fill_powers(const double* contexts, int n, double* out) const {
  const std::int64_t last = kernel_.width() - 1;
  std::vector<double> monomial(parent_.size());
  double* to = out;
  for (int i = 0; i < n; ++i) {
    fill_monomials(contexts + i * last, monomial.data());
    std::int64_t begin = 0;
    for (const std::vector<double>& weights : weights_) {
      std::fill_n(to, dimension_, 0.0);
      for (std::size_t m = 0; m < weights.size(); ++m)
        to[begin + static_cast<std::int64_t>(m)] = weights[m] * monomial[m];
      begin += static_cast<std::int64_t>(weights.size());
      to += dimension_;
    }
  }
}

}  // namespace scrm
