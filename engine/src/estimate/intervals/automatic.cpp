#include "estimate/intervals/automatic.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/intervals/quantiles.hpp"

namespace scrm {
namespace {

constexpr double kHarmless = 0.12, kSkewed = 0.4;          // of g
constexpr double kHeavyTails = 0.5, kHiddenPerTail = 2.0;  // of k / g² − 1
constexpr double kMostSkewed = 3;                          // a ninth of an event: beyond, nothing is known

// How concentrated an estimate may be: of G groups kFewDecide, of fewer than two hundred kTinyLog + kPerGroup G or
// kEven / G (terms that are normal have 3 / G). Rare events of one size have k = g².
constexpr double kFewDecide = 0.4, kTinyLog = 0.12, kPerGroup = 0.0014, kEven = 4;
constexpr double kFewEvents = 0.16, kEvents = 1.15, kFewDiffer = 0.5, kFewExpected = 1.5;
constexpr double kFewDisagree = 0.2;  // of the weights

// Of the mean weight: beyond these a few heavy weights make it; the level of the interval is that of three standard
// errors.
constexpr double kSkewedMean = 0.2, kHeavyMean = 0.06, kOffLevel = 0.9973;
// Rows of a kind that is one in n / 3 are all missing from n rows once in twenty times. Their weights may be four times
// the largest that was seen, and the share of that tells whether the mean is known at all.
constexpr double kUnseenRows = 3, kHeaviest = 4, kMostOfOne = 0.1;

// Effective rows, and the share of all rows above which the policy is near the logged one.
constexpr double kVeryFew = 40, kVeryFewNear = 0.8, kFew = 100, kFewNear = 0.35, kFewCarry = 0.06;
constexpr double kSmallShare = 0.06, kHeavyWeights = 0.03;

/// Standard errors from N = 1/g² events to the upper limit of their number: the quantile of a gamma distribution of N +
/// 1 (exact for events of one size), by Wilson and Hilferty's cube, for a normal quantile z.
double events_limit(double g, double z) {
  const double events = 1 / (g * g), shape = events + 1;
  const double root = 1 - 1 / (9 * shape) + z / (3 * std::sqrt(shape));
  return (shape * root * root * root - events) * g;
}

/// How much more skewed than seen tails are that are heavier than those of events of one size.
double hidden_skewness(double g, double k) {
  return g == 0 ? 1 : 1 + kHiddenPerTail * std::clamp(k / (g * g) - 1, 0.0, kHeavyTails);
}

}  // namespace

std::pair<double, double> automatic_interval(double value, const Shape& shape, double standard_error, double degrees,
                                             double level) {
  const double tail = (1 - level) / 2;
  const double plain = student_upper_quantile(tail, degrees);
  const double g = shape.skewness, k = shape.concentration;
  const double expected = std::clamp(shape.expected_skewness, -kMostSkewed, kMostSkewed);
  const double most = std::max(std::abs(g), std::abs(expected));
  const double share = std::clamp((most - kHarmless) / (kSkewed - kHarmless), 0.0, 1.0);
  if (share == 0) return {value - plain * standard_error, value + plain * standard_error};
  const double spread = std::max(std::max(k, std::min(shape.expected_concentration, 1.0)) - 1 / shape.groups, 1e-12);
  const double worth = std::min(std::max(2 / spread, 1.0), degrees);
  const double q = plain + share * (student_upper_quantile(tail, worth) - plain);
  const double z = normal_upper_quantile(tail);
  const double seen = g * hidden_skewness(g, k);
  const double unseen = expected * hidden_skewness(expected, shape.expected_concentration);
  // Large terms that are missing lie on the side of the skewness.
  const auto end = [&](double sign) {
    const double skewness = std::min(std::max(sign * seen, sign * unseen), kMostSkewed);
    return skewness > 0 ? std::max(q, plain + share * (events_limit(skewness, z) - z)) : q;
  };
  double low = end(-1), high = end(1);
  if (shape.either_side) low = high = std::max(low, high);
  return {value - low * standard_error, value + high * standard_error};
}

bool is_decided_by_few(const Shape& shape) {
  const double k = shape.concentration, g = shape.skewness;
  const double tiny = std::max(kTinyLog + kPerGroup * shape.groups, kEven / shape.groups);
  return k > std::min(kFewDecide, tiny) || (k > kFewEvents && k < kEvents * g * g);
}

bool hides_large_terms(const Shape& shape) {
  return shape.expected_concentration > kFewExpected;
}

bool is_difference_doubtful(const Shape& shape, const Shape& weights) {
  return shape.varies() && (shape.concentration > kFewDiffer || weights.concentration > kFewDisagree);
}

bool has_heavy_weights(const Shape& weights) {
  return std::abs(weights.skewness) > kSkewedMean || weights.concentration > kHeavyMean;
}

bool is_mean_weight_off(const MeanWeight& seen, const Shape& weights) {
  const double error = std::abs(seen.mean - 1) / std::abs(seen.z);
  const auto [low, high] = automatic_interval(seen.mean, weights, error, seen.groups - 1, kOffLevel);
  if (low <= 1 && 1 <= high) return false;
  if (seen.mean > 1 || !has_heavy_weights(weights)) return true;
  const double unseen = seen.groups * (1 - seen.mean) / kUnseenRows;
  return seen.largest_share < kMostOfOne && unseen > kHeaviest * std::max(seen.largest, 1.0);
}

bool are_weights_doubtful(const Shape& weights, double effective_rows, double rows) {
  const double share = effective_rows / rows, k = weights.concentration;
  const bool few = (effective_rows < kVeryFew && share < kVeryFewNear) || (effective_rows < kFew && share < kFewNear);
  return (few && k > kFewCarry) || (share < kSmallShare && k > kHeavyWeights);
}

}  // namespace scrm
