#include "learn/search_coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scrm {
namespace {

// t where a scale at its floor begins: an eighth above it, with half of the slope by log scale.
constexpr double kLeastStart = 0.5;

/// Takes off the last coordinate.
double take_last(std::vector<double>& numbers) {
  const double last = numbers.back();
  numbers.pop_back();
  return last;
}

}  // namespace

std::vector<double> SearchCoordinates::point_of(const Policy& policy) const {
  std::vector<double> point = white_ != nullptr ? white_->to_psi(policy.theta) : policy.theta;
  if (min_scale_) {
    const double above = std::acosh(std::max(1.0, policy.scale / *min_scale_));
    point.push_back(std::max(kLeastStart, above));
  }
  return point;
}

void SearchCoordinates::apply(const std::vector<double>& point, Policy& policy) const {
  std::vector<double> theta = point;
  if (min_scale_) policy.scale = *min_scale_ * std::cosh(take_last(theta));
  policy.theta = white_ != nullptr ? white_->to_theta(theta) : std::move(theta);
}

std::vector<double> SearchCoordinates::gradient(const std::vector<double>& point,
                                                const std::vector<double>& by_parameters) const {
  if (!min_scale_) return white_ != nullptr ? white_->gradient(by_parameters) : by_parameters;
  std::vector<double> by_theta = by_parameters;
  const double by_log_scale = take_last(by_theta);
  std::vector<double> out = white_ != nullptr ? white_->gradient(by_theta) : std::move(by_theta);
  out.push_back(by_log_scale * std::tanh(point.back()));  // ∂ log cosh t / ∂ t
  return out;
}

}  // namespace scrm
