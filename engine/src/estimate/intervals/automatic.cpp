#include "estimate/intervals/automatic.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/intervals/quantiles.hpp"

namespace scrm {
namespace {

constexpr double kHarmless = 0.1, kSkewed = 0.25;           // of g
constexpr double kHeavyTails = 0.35, kHiddenPerTail = 2.0;  // of k / g² − 1

// How concentrated an estimate may be. Rare events of one size have k = g².
constexpr double kFewDecide = 0.4, kFewEvents = 0.2, kEvents = 1.15, kFewDiffer = 0.5;

// Effective rows, and the share of all rows above which the policy is near the logged one.
constexpr double kVeryFew = 40, kVeryFewNear = 0.65, kFew = 100, kFewNear = 0.48, kFewCarry = 0.015;
constexpr double kSmallShare = 0.06, kHeavyWeights = 0.02;

/// t at which Hall's transformation of a statistic of skewness g is q.
double undo_skewness(double g, double q) {
  if (std::abs(g) < 1e-9) return q;
  return 3 / g * (std::cbrt(1 + g * (q - g / 6)) - 1);
}

}  // namespace

std::pair<double, double> automatic_interval(double value, const Shape& shape, double standard_error, double degrees,
                                             double level) {
  const double tail = (1 - level) / 2;
  const double plain = student_upper_quantile(tail, degrees);
  const double g = shape.skewness, k = shape.concentration;
  const double share = std::clamp((std::abs(g) - kHarmless) / (kSkewed - kHarmless), 0.0, 1.0);
  if (share == 0) return {value - plain * standard_error, value + plain * standard_error};
  const double spread = std::max(k - 1 / shape.groups, 1e-12);
  const double worth = std::min(std::max(2 / spread, 1.0), degrees);
  const double q = plain + share * (student_upper_quantile(tail, worth) - plain);
  const double hidden = 1 + kHiddenPerTail * std::clamp(k / (g * g) - 1, 0.0, kHeavyTails);
  const double skewness = share * hidden * g;
  double low = std::max(q, undo_skewness(skewness, q));
  double high = std::max(q, -undo_skewness(skewness, -q));
  if (shape.either_side) low = high = std::max(low, high);
  return {value - low * standard_error, value + high * standard_error};
}

bool is_doubtful(const Shape& shape) {
  const double k = shape.concentration, g = shape.skewness;
  return !shape.varies() || k > kFewDecide || (k > kFewEvents && k < kEvents * g * g);
}

bool is_difference_doubtful(const Shape& shape) {
  return shape.concentration > kFewDiffer;
}

bool are_weights_doubtful(const Shape& weights, double effective_rows, double rows) {
  const double share = effective_rows / rows, k = weights.concentration;
  const bool few = (effective_rows < kVeryFew && share < kVeryFewNear) || (effective_rows < kFew && share < kFewNear);
  return (few && k > kFewCarry) || (share < kSmallShare && k > kHeavyWeights);
}

}  // namespace scrm
