#include "estimate/intervals/interval_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

/// The range as the user wrote it.
OutcomeRange shown(const OutcomeRange& range, bool reward) {
  return reward ? OutcomeRange{-range.high, -range.low} : range;
}

/// Between the products of the ends of two ranges.
OutcomeRange product_range(double low, double high, const OutcomeRange& outcome) {
  const auto [least, most] =
      std::minmax({low * outcome.low, low * outcome.high, high * outcome.low, high * outcome.high});
  return {least, most};
}

bool is_policy_value(const Estimator& estimator) {
  return inapplicable_interval_reason(IntervalKind::cressie_read, estimator, true).empty() && !estimator.smoothed_terms;
}

}  // namespace

bool KnownBounds::weight_given() const noexcept {
  return std::isfinite(max_weight);
}

double KnownBounds::end_nearest_zero() const noexcept {
  return std::abs(outcome.low) <= std::abs(outcome.high) ? outcome.low : outcome.high;
}

bool KnownBounds::hold_for(IntervalKind kind) const noexcept {
  const bool by_outcome = kind == IntervalKind::cressie_read || kind == IntervalKind::clopper_pearson;
  const bool by_both = kind == IntervalKind::bernstein || kind == IntervalKind::sequence;
  return outcome_given && (by_outcome || (by_both && weight_given()));
}

KnownBounds known_bounds(const EvaluateOptions& options, const Moments& loss, bool reward) {
  KnownBounds bounds;
  bounds.max_weight = options.max_weight.value_or(std::numeric_limits<double>::infinity());
  bounds.outcome_given = options.outcome_range.has_value();
  bounds.outcome = options.outcome_range.value_or(OutcomeRange{loss.lowest, loss.highest});
  if (loss.lowest >= bounds.outcome.low && loss.highest <= bounds.outcome.high) return bounds;
  const double outside = loss.lowest < bounds.outcome.low ? loss.lowest : loss.highest;
  const OutcomeRange range = shown(bounds.outcome, reward);
  throw Error(ErrorKind::data,
              fmt::format("a {} of {} lies outside of --outcome-range {}:{}", reward ? "reward" : "loss",
                          reward ? -outside : outside, range.low, range.high));
}

void require_within(const KnownBounds& bounds, double largest_weight, const std::string& policy) {
  constexpr double kRounding = 1e-9;  // of a ratio of probabilities that is just the bound
  if (!(largest_weight > bounds.max_weight * (1 + kRounding))) return;
  throw Error(ErrorKind::data,
              fmt::format("a weight of {} exceeds --max-weight {}; give a larger --max-weight", largest_weight,
                          bounds.max_weight),
              {.file = policy});
}

void require_valid_interval(const EvaluateOptions& options, bool clustered) {
  const auto fail = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
  const char* name = definition_of(options.interval).name;
  if (options.max_weight && !(*options.max_weight >= 1 && std::isfinite(*options.max_weight)))
    fail(fmt::format("--max-weight is {}, but weights average to one: it must be 1 or more", *options.max_weight));
  if (options.outcome_range && !(options.outcome_range->low < options.outcome_range->high &&
                                 std::isfinite(options.outcome_range->high - options.outcome_range->low)))
    fail("--outcome-range must be LOW:HIGH, the lower end first and both finite");
  if (options.loss_threshold && !std::isfinite(*options.loss_threshold)) fail("--at-least must be a number");
  if (options.simultaneous && options.interval != IntervalKind::automatic)
    fail("--simultaneous makes intervals of its own kind: give it without --interval");
  if (options.interval == IntervalKind::clopper_pearson && !options.max_weight)
    fail(
        "clopper-pearson intervals need --max-weight, the largest weight that there can be; cressie-read does without");
  const bool of_clusters = options.interval == IntervalKind::automatic || options.interval == IntervalKind::normal ||
                           options.interval == IntervalKind::student || options.interval == IntervalKind::bootstrap;
  if (clustered && !of_clusters)
    fail(fmt::format(
        "the rows come in clusters, and {} intervals take rows as independent; choose auto, normal, student "
        "or bootstrap",
        name));
}

std::string interval_assumption(IntervalKind kind, const KnownBounds& bounds, bool reward) {
  const OutcomeRange range = shown(bounds.outcome, reward);
  const char* outcomes = reward ? "rewards" : "losses";
  const std::string within = fmt::format("{} within [{:.6g}, {:.6g}]", outcomes, range.low, range.high);
  const std::string weights =
      bounds.weight_given() ? fmt::format("weights up to {:g}", bounds.max_weight) : "weights of any size";
  const bool all_given = bounds.outcome_given && bounds.weight_given();
  switch (kind) {
    case IntervalKind::bernstein:
      return all_given ? fmt::format("{} and {}", within, weights)
                       : "no term outside of the range that was seen; give --outcome-range and --max-weight";
    case IntervalKind::cressie_read:
    case IntervalKind::clopper_pearson:
      return fmt::format("{}{} and {}", within, bounds.outcome_given ? "" : ", as seen", weights);
    case IntervalKind::sequence:
      return all_given ? fmt::format("{} and {}", within, weights)
                       : "that rows are many; with --outcome-range and --max-weight it holds for any number of rows";
    default:
      return {};
  }
}

void add_value_inputs(const Estimator& estimator, const PolicyTotals& totals, const KnownBounds& bounds, double largest,
                      IntervalInputs& inputs) {
  const double mean_weight = totals.weight.true_mean(), ips = totals.weighted_loss.true_mean();
  if (bounds.outcome_given && std::isfinite(largest) && has_known_range(estimator)) {
    const bool ratio = estimator.point != mean_of_terms;
    const OutcomeRange terms = product_range(0, largest, bounds.outcome);
    inputs.point.range =
        ratio ? largest * (bounds.outcome.high - bounds.outcome.low) / mean_weight : terms.high - terms.low;
  }
  if (!is_policy_value(estimator)) return;
  inputs.controlled = ControlledMoments{.rows = totals.rows,
                                        .mean_control = mean_weight,
                                        .mean_term = ips,
                                        .square = totals.square,
                                        .known_mean = 1,
                                        .lowest_control = 0,
                                        .highest_control = bounds.max_weight};
  if (!bounds.weight_given()) return;
  // Losses may be measured from anywhere, since weights average to one: w (y − from) has the mean value − from. Rare
  // outcomes leave few terms other than zero where it is from the end of the range that most are at.
  const double width = bounds.outcome.high - bounds.outcome.low, from = bounds.end_nearest_zero();
  const OutcomeRange terms = product_range(0, bounds.max_weight, bounds.measured_from(from));
  inputs.bounded =
      BoundedTerms{.mean = ips - from * mean_weight, .lowest = terms.low, .highest = terms.high, .offset = from};
  inputs.epoch_mean = ips + bounds.centre() * (1 - mean_weight);
  inputs.term_bounds = {.mean = width / 2, .term = bounds.max_weight * width / 2};
  if (bounds.outcome_given) inputs.limits = bounds.outcome;
}

void add_difference_inputs(const Estimator& estimator, const DifferenceTotals& totals, const KnownBounds& bounds,
                           bool logged, IntervalInputs& inputs) {
  // v = w − u, with u = 1 for the logged actions.
  const double lowest = logged ? -1 : -bounds.max_weight;
  const double highest = bounds.max_weight - (logged ? 1 : 0);
  const double width = bounds.outcome.high - bounds.outcome.low;
  if (bounds.outcome_given && bounds.weight_given() && has_known_range(estimator)) {
    const OutcomeRange terms = product_range(lowest, highest, bounds.outcome);
    const double ratio = bounds.max_weight * width / totals.mean_weight +
                         (logged ? width : bounds.max_weight * width / totals.baseline_mean_weight);
    inputs.point.range = estimator.point == mean_of_terms ? terms.high - terms.low : ratio;
  }
  if (!is_policy_value(estimator)) return;
  const DifferenceSums& sums = totals.sums;
  double control = sums.difference.total, term = sums.difference.first + sums.difference.centre * sums.difference.total;
  SquareWeightedMoments square = sums.squared_difference;
  for (int h = 0; h < sums.held.count; ++h) {
    const PairedRow& row = sums.held.rows[static_cast<std::size_t>(h)];
    const double v = row.weight - row.baseline;
    control += v;
    term += v * row.loss;
    square.merge({v * v, row.loss, 0, 0});
  }
  inputs.controlled = ControlledMoments{.rows = totals.rows,
                                        .mean_control = control / totals.rows,
                                        .mean_term = term / totals.rows,
                                        .square = square,
                                        .known_mean = 0,
                                        .lowest_control = lowest,
                                        .highest_control = highest};
  if (!bounds.weight_given()) return;
  const double from = bounds.end_nearest_zero();
  const OutcomeRange terms = product_range(lowest, highest, bounds.measured_from(from));
  inputs.bounded = BoundedTerms{
      .mean = (term - from * control) / totals.rows, .lowest = terms.low, .highest = terms.high, .offset = 0};
  inputs.epoch_mean = (term - bounds.centre() * control) / totals.rows;
  inputs.term_bounds = {.mean = width, .term = std::max(-lowest, highest) * width / 2};
  if (bounds.outcome_given) inputs.limits = OutcomeRange{-width, width};
}

void set_to_zero(IntervalInputs& inputs) {
  inputs.point.value = inputs.point.standard_error = 0;
  inputs.whole.reset();
  if (inputs.shape) inputs.shape = Shape{.groups = inputs.shape->groups};
  if (inputs.bootstrap) inputs.bootstrap = ReplicateFacts{.bounds = {0, 0}, .share_below = 0.5};
  if (inputs.controlled) {
    inputs.controlled->mean_control = inputs.controlled->mean_term = 0;
    inputs.controlled->square = {};
  }
  if (inputs.bounded) inputs.bounded->mean = 0;
  inputs.epoch_mean = 0;
}

}  // namespace scrm
