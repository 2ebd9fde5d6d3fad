#include "estimate/intervals/intervals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/intervals/automatic.hpp"
#include "estimate/intervals/clopper_pearson.hpp"
#include "estimate/intervals/quantiles.hpp"

namespace scrm {
namespace {

/// (1 − level) / 2. Levels that anyone asks for keep the rounding of 1 − tail, on which the bits of their intervals
/// rest; far out that rounding would be all there is.
double upper_tail(double level) {
  constexpr double kFar = 1e-6;
  const double tail = (1 - level) / 2;
  return tail > kFar ? 1 - (1 - tail) : tail;
}

Bounds around(double value, double half) {
  return std::pair{value - half, value + half};
}

Bounds within(const std::optional<OutcomeRange>& limits, const Bounds& bounds) {
  if (!limits || !bounds) return bounds;
  return std::pair{std::clamp(bounds->first, limits->low, limits->high),
                   std::clamp(bounds->second, limits->low, limits->high)};
}

/// Degrees of freedom of a standard error.
double degrees_of(const IntervalInputs& inputs) {
  return (inputs.clustered && inputs.shape ? inputs.shape->groups : inputs.rows) - 1;
}

/// That of one estimate: with the jackknife's standard error, and on the side where the bias of a ratio lies that much
/// further.
std::pair<double, double> automatic_bounds(double value, double standard_error, const Shape& shape, double degrees,
                                           double level) {
  const auto [low, high] = automatic_interval(value, shape, standard_error * shape.leverage, degrees, level);
  return {low + std::min(shape.ratio_bias, 0.0), high + std::max(shape.ratio_bias, 0.0)};
}

/// The default interval. Weights that are made smaller leave a bias, of which nothing is seen in the terms that are
/// left: on the side where some was cut off, the interval reaches as far as that of whole weights.
std::pair<double, double> automatic_bounds(const IntervalInputs& inputs, double level) {
  const PointEstimate& point = inputs.point;
  auto [low, high] = automatic_bounds(point.value, point.standard_error, *inputs.shape, degrees_of(inputs), level);
  if (!inputs.whole) return {low, high};
  const WholeWeights& whole = *inputs.whole;
  const auto [whole_low, whole_high] =
      automatic_bounds(whole.value, whole.standard_error, whole.shape, degrees_of(inputs), level);
  if (whole.value < point.value) low = std::min(low, whole_low);
  if (whole.value > point.value) high = std::max(high, whole_high);
  return {low, high};
}

/// Maurer & Pontil: √(2 s² ln(2/δ)/n) + 7 R ln(2/δ) / (3 (n − 1)), with s²/n the squared standard error.
double bernstein_half(double level, const IntervalInputs& inputs) {
  const double log_term = std::log(2 / (1 - level));
  return std::sqrt(2 * log_term) * inputs.point.standard_error +
         7 * inputs.point.range * log_term / (3 * (inputs.rows - 1));
}

/// Quantile by linear interpolation between order statistics.
double sorted_quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Bounds likelihood_interval(double level, const IntervalInputs& inputs) {
  if (!inputs.controlled) return {};
  const LikelihoodInterval found = cressie_read(*inputs.controlled, inputs.outcome, level);
  return std::pair{found.low, found.high};
}

Bounds binomial_interval(double level, const IntervalInputs& inputs) {
  if (!inputs.bounded) return {};
  const auto [mean, lowest, highest, offset] = *inputs.bounded;
  const double width = highest - lowest;
  if (!(width > 0)) return around(mean + offset, 0);
  const auto [low, high] = clopper_pearson(inputs.rows * ((mean - lowest) / width), inputs.rows, level);
  return std::pair{offset + lowest + width * low, offset + lowest + width * high};
}

Bounds sequence_interval(double level, const IntervalInputs& inputs) {
  if (inputs.epochs != nullptr) {
    return within(inputs.limits,
                  around(inputs.epoch_mean, bounded_sequence_half_width(*inputs.epochs, inputs.term_bounds, level)));
  }
  return around(inputs.point.value,
                asymptotic_sequence_half_width(inputs.point.standard_error, degrees_of(inputs) + 1, level));
}

}  // namespace

std::optional<ReplicateFacts> replicate_facts(std::vector<double> values, double level, double loss_threshold) {
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    return {};
  std::sort(values.begin(), values.end());
  const double tail = (1 - level) / 2;
  const auto [from, to] = std::equal_range(values.begin(), values.end(), loss_threshold);
  const double below = static_cast<double>(from - values.begin()), equal = static_cast<double>(to - from);
  return ReplicateFacts{.bounds = {sorted_quantile(values, tail), sorted_quantile(values, 1 - tail)},
                        // Never 0 or 1: the next replicate could be the first on that side.
                        .share_below = (below + equal / 2 + 0.5) / (static_cast<double>(values.size()) + 1)};
}

Bounds interval(IntervalKind kind, double level, const IntervalInputs& inputs) {
  const PointEstimate& point = inputs.point;
  const double tail = upper_tail(level);
  if (inputs.critical) {
    // For one policy alone it is never narrower than what would be given without it.
    const auto [low, high] = *around(point.value, *inputs.critical * point.standard_error);
    if (!inputs.shape) return std::pair{low, high};
    const auto [own_low, own_high] = automatic_bounds(inputs, level);
    return std::pair{std::min(low, own_low), std::max(high, own_high)};
  }
  switch (kind) {
    case IntervalKind::automatic:
      if (inputs.shape) return automatic_bounds(inputs, level);
      break;
    case IntervalKind::student:
      return around(point.value, student_upper_quantile(tail, degrees_of(inputs)) * point.standard_error);
    case IntervalKind::bernstein:
      return within(inputs.limits, around(point.value, bernstein_half(level, inputs)));
    case IntervalKind::bootstrap:
      return inputs.bootstrap ? Bounds(inputs.bootstrap->bounds) : Bounds();
    case IntervalKind::cressie_read:
      return likelihood_interval(level, inputs);
    case IntervalKind::clopper_pearson:
      return within(inputs.limits, binomial_interval(level, inputs));
    case IntervalKind::sequence:
      return sequence_interval(level, inputs);
    case IntervalKind::normal:
      break;
  }
  return around(point.value, normal_upper_quantile(tail) * point.standard_error);
}

std::optional<double> confidence_below(IntervalKind kind, double x, const IntervalInputs& inputs) {
  if (kind == IntervalKind::bootstrap)
    return inputs.bootstrap ? std::optional(inputs.bootstrap->share_below) : std::nullopt;
  // The level at which the interval just reaches x, by the logarithm of its tail: intervals grow with their level.
  const Bounds narrowest = interval(kind, 1e-9, inputs);
  if (!narrowest) return {};
  const bool above = x > narrowest->second;
  if (!above && !(x < narrowest->first)) return 0.5;
  double low = std::log(1e-12), high = 0;  // of 2 · tail
  for (int step = 0; step < 60; ++step) {
    const double middle = low + (high - low) / 2;
    const Bounds bounds = interval(kind, 1 - std::exp(middle), inputs);
    const bool reaches = above ? bounds->second >= x : bounds->first <= x;
    (reaches ? low : high) = middle;
  }
  const double tail = std::exp(low + (high - low) / 2) / 2;
  return above ? 1 - tail : tail;
}

bool has_known_range(const Estimator& estimator) {
  return estimator.transform != WeightTransform::given && !estimator.label_sums && !estimator.needs_model;
}

std::string inapplicable_interval_reason(IntervalKind kind, const Estimator& estimator, bool bounded) {
  if (estimator.smoothed_terms) return {};  // it has a bound of its own
  const bool policy_value =
      estimator.transform == WeightTransform::none && !estimator.label_sums && !estimator.needs_model;
  const bool known_range = has_known_range(estimator);
  const char* name = definition_of(kind).name;
  const bool of_value = kind == IntervalKind::cressie_read || kind == IntervalKind::clopper_pearson ||
                        (kind == IntervalKind::sequence && bounded);
  if (of_value && !policy_value)
    return fmt::format("{} intervals need unmodified importance weights; use ips or snips", name);
  if (kind == IntervalKind::bernstein && bounded && !known_range)
    return "--outcome-range and --max-weight do not bound this estimator's terms";
  return {};
}

}  // namespace scrm
