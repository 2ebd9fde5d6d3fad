#include "learn/search/search_coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scrm {
namespace {

// t where a scale at its floor begins: an eighth above it, with half of the slope by log scale.
constexpr double kLeastStart = 0.5;

// Units between these are one.
constexpr double kLeastUnit = 0.125, kLargestUnit = 8;

void multiply(std::vector<double>& numbers, double factor) {
  for (double& number : numbers) number *= factor;
}

/// Takes off the last coordinate.
double take_last(std::vector<double>& numbers) {
  const double last = numbers.back();
  numbers.pop_back();
  return last;
}

}  // namespace

double unit_of(const Policy& policy) {
  const bool spread = policy.kind == PolicyKind::gaussian || policy.kind == PolicyKind::lognormal;
  const double unit = 2 * policy.scale;
  if (!spread || (unit >= kLeastUnit && unit <= kLargestUnit)) return 1;
  return std::exp2(std::round(std::log2(unit)));
}

std::vector<double> SearchCoordinates::point_of(const Policy& policy) const {
  std::vector<double> point = white_ != nullptr ? white_->to_psi(policy.theta) : policy.theta;
  multiply(point, 1 / unit_);
  if (min_scale_) {
    const double above = std::acosh(std::max(1.0, policy.scale / *min_scale_));
    point.push_back(std::max(kLeastStart, above));
  }
  return point;
}

void SearchCoordinates::apply(const std::vector<double>& point, Policy& policy) const {
  std::vector<double> theta = point;
  if (min_scale_) policy.scale = *min_scale_ * std::cosh(take_last(theta));
  multiply(theta, unit_);
  policy.theta = white_ != nullptr ? white_->to_theta(theta) : std::move(theta);
}

std::vector<double> SearchCoordinates::gradient(const std::vector<double>& point,
                                                const std::vector<double>& by_parameters) const {
  std::vector<double> by_theta = by_parameters;
  const double by_log_scale = min_scale_ ? take_last(by_theta) : 0;
  std::vector<double> out = white_ != nullptr ? white_->gradient(by_theta) : std::move(by_theta);
  multiply(out, unit_);
  if (min_scale_) out.push_back(by_log_scale * std::tanh(point.back()));  // ∂ log cosh t / ∂ t
  return out;
}

}  // namespace scrm
