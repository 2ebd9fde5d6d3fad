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

/// Degrees of freedom of a standard error.
double degrees_of(const IntervalInputs& inputs) {
  return (inputs.clustered && inputs.shape ? inputs.shape->groups : inputs.rows) - 1;
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
  if (inputs.epochs != nullptr && inputs.bounded) {
    return around(inputs.bounded->mean + inputs.bounded->offset,
                  bounded_sequence_half_width(*inputs.epochs, inputs.term_bounds, level));
  }
  return around(inputs.point.value,
                asymptotic_sequence_half_width(inputs.point.standard_error, degrees_of(inputs) + 1, level));
}

}  // namespace

std::optional<ReplicateFacts> replicate_facts(std::vector<double> values, double level, double beaten) {
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    return {};
  std::sort(values.begin(), values.end());
  const double tail = (1 - level) / 2;
  const auto [from, to] = std::equal_range(values.begin(), values.end(), beaten);
  const double below = static_cast<double>(from - values.begin()), equal = static_cast<double>(to - from);
  return ReplicateFacts{.bounds = {sorted_quantile(values, tail), sorted_quantile(values, 1 - tail)},
                        .share_below = (below + equal / 2) / static_cast<double>(values.size())};
}

Bounds interval(IntervalKind kind, double level, const IntervalInputs& inputs) {
  const PointEstimate& point = inputs.point;
  const double tail = upper_tail(level);
  if (inputs.critical) return around(point.value, *inputs.critical * point.standard_error);
  switch (kind) {
    case IntervalKind::automatic:
      if (inputs.shape)
        return automatic_interval(point.value, *inputs.shape, point.standard_error, degrees_of(inputs), level);
      break;
    case IntervalKind::student:
      return around(point.value, student_upper_quantile(tail, degrees_of(inputs)) * point.standard_error);
    case IntervalKind::bernstein:
      return around(point.value, bernstein_half(level, inputs));
    case IntervalKind::bootstrap:
      return inputs.bootstrap ? Bounds(inputs.bootstrap->bounds) : Bounds();
    case IntervalKind::cressie_read:
      return likelihood_interval(level, inputs);
    case IntervalKind::clopper_pearson:
      return binomial_interval(level, inputs);
    case IntervalKind::sequence:
      return sequence_interval(level, inputs);
    case IntervalKind::normal:
      break;
  }
  return around(point.value, normal_upper_quantile(tail) * point.standard_error);
}

std::optional<double> confidence_below(IntervalKind kind, double x, const IntervalInputs& inputs) {
  if (kind == IntervalKind::bootstrap && !inputs.critical)
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

std::string inapplicable_interval_reason(IntervalKind kind, const Estimator& estimator) {
  const bool value_of_policy = estimator.transform == WeightTransform::none && !estimator.label_sums;
  if (estimator.smoothed_terms) return {};  // it has a bound of its own
  const bool needs_it = kind == IntervalKind::cressie_read || kind == IntervalKind::clopper_pearson;
  if (!needs_it || value_of_policy) return {};
  return fmt::format("{} intervals are of the policy's own value, by weights that average to one: take ips or snips",
                     definition_of(kind).name);
}

}  // namespace scrm
