#include "estimate/policy_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "estimate/intervals/interval_inputs.hpp"
#include "estimate/warnings.hpp"

namespace scrm {
namespace {

/// Sums over all rows, and the M of `clipped`.
struct FinalSums {
  WeightSums weights;
  double clip = 0;
};

/// The top rows join the others, clipped to M where M is automatic.
FinalSums add_top_rows(WeightSums sums, const WeightOptions& rules) {
  const bool automatic = rules.clip == 0;
  const TopRows top = sums.top;
  if (automatic) sums.clipped = sums.ips;  // all rows outside the top lie below M
  const double clip =
      automatic && top.count > 0 ? top.entries[static_cast<std::size_t>(top.count - 1)].weight : rules.clip;
  WeightOptions final_rules = rules;
  final_rules.clip = clip > 0 ? clip : 0;
  for (int t = top.count - 1; t >= 0; --t) {
    const TopRows::Entry& entry = top.entries[static_cast<std::size_t>(t)];
    add_row(sums, entry.weight, entry.loss, final_rules);
  }
  // M is zero when every row outside the largest four has no weight: then all that is left of the estimator is zero.
  if (clip == 0) sums.clipped = Moments{sums.ips.count, 0, 0, 0, 0, 0};
  return {sums, clip};
}

/// Moments of the estimator's terms t(w) y, of a policy (WeightSums) or of two that differ (FinalDifference); `given`
/// are those of its given transforms.
template <class Sums>
const Moments& terms_of(const Estimator& estimator, const Sums& sums, const ExtraTerms& extra, const Moments* given) {
  switch (estimator.transform) {
    case WeightTransform::clip:
      return sums.clipped;
    case WeightTransform::ix:
      return sums.ix;
    case WeightTransform::given:
      return given[extra.index(estimator)];
    case WeightTransform::none:
      break;
  }
  return sums.ips;
}

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

/// `error` is the standard error of the mean weight; one cluster has none. `shape` is that of the mean weight.
Diagnostics diagnose(const WeightSums& sums, const std::optional<double>& error, const Shape& shape, bool clustered,
                     Warnings& warnings) {
  Diagnostics out;
  const Moments& w = sums.weight;
  const double mean = w.true_mean();
  out.mean_weight = if_finite(mean);
  bool certain = false;
  if (w.count > 1) {
    // Weights that differ from one by rounding alone are one, however little they spread; a spread that is rounding
    // alone is none.
    constexpr double kRounding = 1e-12;
    const double deviation = w.standard_deviation();
    const bool one = std::abs(mean - 1) < kRounding;
    const bool spread = deviation > kRounding * mean;
    out.mean_weight_z = one ? 0.0 : (spread && error ? if_finite((mean - 1) / *error) : std::nullopt);
    certain = !out.mean_weight_z && (!spread || error);
  }
  if (w.mean > 0) out.ess = if_finite(effective_sample_size(w));
  const double largest = sums.top.entries[0].weight;
  out.max_weight = if_finite(largest);
  if (w.mean > 0) out.max_weight_share = if_finite(std::ldexp(largest, -w.exponent) / w.mean / w.count);
  const MeanWeightCheck check{.certain = certain, .groups = clustered ? shape.groups : w.count, .weights = shape};
  add_weight_warnings(w.count, check, out, warnings);
  return out;
}

/// What is given of an estimate: numbers beyond the largest double are not. `name` is how warnings call the estimate,
/// and `loss_threshold` what its limit is to lie below, where anybody asks.
Estimate finite_estimate(const IntervalInputs& inputs, const std::string& name, const EvaluateOptions& options,
                         const std::optional<double>& loss_threshold, Warnings& warnings, Overflows& overflows) {
  Estimate out;
  const PointEstimate& point = inputs.point;
  if (!point.undefined_reason.empty()) {
    warnings.add_about({name}, point.undefined_reason);
    return out;
  }
  out.value = if_finite(point.value);
  if (!out.value) {
    overflows.values.emplace_back(name);
    return out;
  }
  if (inputs.rows < 2 || (inputs.clustered && !(inputs.shape && inputs.shape->groups > 1))) return out;
  out.standard_error = if_finite(point.standard_error);
  if (!out.standard_error) {
    overflows.standard_errors.emplace_back(name);
    return out;
  }
  if (point.upper_bound) {
    out.high = if_finite(*point.upper_bound);
    if (!loss_threshold) return out;
    if (point.confidence.value_or(0) > 0)
      out.confidence = point.confidence;
    else
      warnings.add_about(
          {name},
          "its bound says nothing about --at-least: with these rows it cannot reach that far at any confidence");
    return out;
  }
  const bool undefined = inputs.critical && std::isnan(*inputs.critical);
  const Bounds bounds = undefined ? Bounds() : interval(options.interval, options.level, inputs);
  if (!bounds && (undefined || options.interval == IntervalKind::bootstrap))
    warnings.add_about({name}, "some bootstrap replicates are undefined, so there is no interval");
  if (!bounds) return out;
  out.low = if_finite(bounds->first);
  out.high = if_finite(bounds->second);
  if (!out.low || !out.high) {
    overflows.intervals.emplace_back(name);
    out.low = out.high = std::nullopt;
    return out;
  }
  if (!loss_threshold) return out;
  IntervalInputs alone = inputs;  // how sure one is of one policy is not about the others
  alone.critical.reset();
  out.confidence = confidence_below(options.interval, *loss_threshold, alone);
  return out;
}

/// What was found out about the estimate beside its sums.
void add_facts(const ReportInputs& in, const EstimateFacts& facts, IntervalInputs& inputs) {
  inputs.shape = facts.shape;
  inputs.critical = facts.critical;
  inputs.bootstrap = facts.bootstrap;
  inputs.clustered = in.clustered;
  if (in.clustered && facts.shape) inputs.point.standard_error = facts.shape->standard_error;
}

/// The estimate of whole weights beside one of smaller ones; none where it is beyond the largest number.
std::optional<WholeWeights> whole_weights(const ReportInputs& in, const PointEstimate& ips, const Shape& shape) {
  const double error = in.clustered ? shape.standard_error : ips.standard_error;
  if (!std::isfinite(ips.value) || !std::isfinite(error)) return {};
  return WholeWeights{ips.value, error, shape};
}

/// The scale that was chosen for a tuned estimator.
std::size_t chosen_scale(const ReportInputs& in, std::size_t p, const Estimator& estimator) {
  return in.groups.layout.chosen_scale(p, in.extra.tuned_index(estimator));
}

/// Where the terms of a tuned estimator are, for the scale that was chosen.
std::size_t tuned_terms(const ReportInputs& in, std::size_t p, const Estimator& estimator) {
  return p * in.extra.tuned_columns() + in.extra.tuned_index(estimator) * in.extra.scales.size() +
         chosen_scale(in, p, estimator);
}

/// Those of the policy as the estimator wants them.
PolicyTotals totals_for(const ReportInputs& in, const std::vector<FinalSums>& finals, std::size_t p,
                        const Estimator& estimator) {
  const EvaluationSums& sums = in.sums;
  const WeightSums& all = finals[p].weights;
  const std::size_t grid = sums.smoothed.size() / sums.weights.size();
  return {.rows = all.weight.count,
          .loss = sums.loss,
          .weight = all.weight,
          .weighted_loss = all.ips,
          .terms = estimator.tuned ? sums.tuned[tuned_terms(in, p, estimator)]
                                   : terms_of(estimator, all, in.extra, sums.given.data() + p * in.extra.given.size()),
          .square = all.square,
          .additive = sums.additive[p],
          .smoothed = std::span(sums.smoothed).subspan(p * grid, grid),
          .model = in.extra.model ? sums.model[p] : ModelSums{},
          .level = in.options.level,
          .loss_threshold = in.options.loss_threshold};
}

std::optional<double> shown_parameter(const ReportInputs& in, const std::vector<FinalSums>& finals, std::size_t p,
                                      const Estimator& estimator) {
  if (estimator.tuned) return estimator.tuned->parameter(in.extra.scales[chosen_scale(in, p, estimator)]);
  if (estimator.parameter == EstimatorParameter::none) return {};
  return parameter_value(estimator, in.rules.alpha, finals[p].clip);
}

/// What t(w) can be at most.
double largest_term_weight(const ReportInputs& in, const Estimator& estimator, const KnownBounds& bounds) {
  switch (estimator.transform) {
    case WeightTransform::clip:
      return in.rules.clip > 0 ? std::min(in.rules.clip, bounds.max_weight) : bounds.max_weight;
    case WeightTransform::ix:
      return std::min(1 / in.rules.alpha, bounds.max_weight);
    case WeightTransform::given:
      return std::numeric_limits<double>::infinity();
    case WeightTransform::none:
      break;
  }
  return bounds.max_weight;
}

/// The empirical-likelihood value itself, beside the estimates whose intervals it has.
Estimate likelihood_estimate(const IntervalInputs& inputs, const EvaluateOptions& options) {
  const LikelihoodInterval found = cressie_read(*inputs.controlled, inputs.outcome, options.level);
  Estimate out;
  out.estimator = definition_of(IntervalKind::cressie_read).name;
  out.value = if_finite(found.value);
  out.standard_error = if_finite(found.standard_error);
  out.low = if_finite(found.low);
  out.high = if_finite(found.high);
  if (options.loss_threshold) out.confidence = confidence_below(options.interval, *options.loss_threshold, inputs);
  return out;
}

PolicyReport report_policy(const ReportInputs& in, const std::vector<FinalSums>& finals, std::size_t p,
                           const KnownBounds& bounds, std::span<const EstimateFacts> facts, IntervalDoubts& doubts,
                           Warnings& warnings) {
  PolicyReport out;
  const Moments& weight = finals[p].weights.weight;
  std::optional<double> error = weight.standard_deviation() / std::sqrt(weight.count);
  if (in.clustered) error = in.groups.groups > 1 ? std::optional(doubts.weights->standard_error) : std::nullopt;
  out.diagnostics = diagnose(finals[p].weights, error, *doubts.weights, in.clustered, warnings);
  Overflows overflows;
  std::optional<Estimate> likelihood;
  for (std::size_t e = 0; e < in.chosen[p].size(); ++e) {
    const Estimator& estimator = *in.chosen[p][e];
    const PolicyTotals totals = totals_for(in, finals, p, estimator);
    IntervalInputs inputs{.rows = totals.rows, .point = estimator.point(totals)};
    add_facts(in, facts[e], inputs);
    if (facts[e].whole_shape)
      inputs.whole =
          whole_weights(in, kIpsEstimator.point(totals_for(in, finals, p, kIpsEstimator)), *facts[e].whole_shape);
    add_value_inputs(estimator, totals, bounds, largest_term_weight(in, estimator, bounds), inputs);
    inputs.outcome = bounds.outcome;
    if (!in.sums.epochs.empty()) inputs.epochs = &in.sums.epochs[p];
    Estimate one = finite_estimate(inputs, estimator.name, in.options, in.options.loss_threshold, warnings, overflows);
    one.estimator = estimator.name;
    one.parameter = inputs.point.parameter ? inputs.point.parameter : shown_parameter(in, finals, p, estimator);
    if (one.low && inputs.shape) doubts.add(estimator.name, *inputs.shape);
    if (in.options.interval == IntervalKind::cressie_read && one.low)
      likelihood = likelihood_estimate(inputs, in.options);
    out.estimates.push_back(std::move(one));
  }
  if (std::find(in.chosen[p].begin(), in.chosen[p].end(), &kDmEstimator) != in.chosen[p].end())
    warnings.add_about(
        {kDmEstimator.name},
        "its interval knows nothing of the model's bias, which no number of rows removes; dr corrects it");
  // An α that was given may take that much off the weights.
  const bool additive = std::find(in.chosen[p].begin(), in.chosen[p].end(), &kAdditiveEstimator) != in.chosen[p].end();
  if (additive && !in.options.alpha && in.groups.groups > 1) {
    const std::size_t column = in.groups.layout.policy(p) + GroupLayout::kOwn + 1;
    const double rows = in.totals[GroupLayout::kRows];
    const double label_error = shape_of_label_weights(in.groups, in.totals, p).standard_error;
    // α E[w_k²] for each label, whose variances add up where bits are independent.
    const double taken = in.rules.alpha * (in.num_actions + rows * label_error * label_error);
    add_label_weight_warning(in.totals[column] / rows, taken, label_error, warnings);
  }
  if (likelihood) out.estimates.push_back(*likelihood);
  add_overflow_warnings(overflows, out.diagnostics.max_weight, warnings);
  return out;
}

PointEstimate logged_point(const Moments& loss) {
  PointEstimate out;
  out.value = loss.true_mean();
  out.range = loss.range();
  return out;
}

/// The totals of policy p minus the baseline, all but what depends on the estimator.
DifferenceTotals difference_totals(const ReportInputs& in, const std::vector<FinalSums>& finals, std::size_t p) {
  const EvaluationSums& sums = in.sums;
  const bool logged = in.baseline.kind == Baseline::Kind::logged;
  DifferenceTotals out;
  out.rows = finals[p].weights.weight.count;
  out.loss = sums.loss;
  out.sums = sums.difference[p];
  out.additive = sums.additive_difference[p];
  if (in.extra.model) out.model = sums.model_difference[p];
  out.mean_weight = finals[p].weights.weight.true_mean();
  out.baseline_mean_weight = logged ? 1.0 : finals[in.baseline.policy].weights.weight.true_mean();
  return out;
}

/// Adds the difference to the report of policy p. What is wrong with either side is said of that side already.
void add_difference(const ReportInputs& in, const std::vector<FinalSums>& finals, std::size_t p,
                    const std::string& baseline_name, const KnownBounds& bounds, std::span<const EstimateFacts> facts,
                    IntervalDoubts& doubts, Warnings& warnings, PolicyReport& report) {
  const std::vector<const Estimator*> estimators = difference_estimators(in.chosen, in.baseline, p);
  const bool logged = in.baseline.kind == Baseline::Kind::logged;
  DifferenceTotals totals = difference_totals(in, finals, p);
  const DifferenceClips clips{.weight = finals[p].clip, .baseline = logged ? 0.0 : finals[in.baseline.policy].clip};
  const FinalDifference all = add_held_rows(totals.sums, in.rules, clips, logged);
  const Moments* given = in.sums.given_difference.data() + p * in.extra.given.size();
  report.difference.emplace();
  report.difference->baseline = baseline_name;
  const bool same = agree_everywhere(totals.sums, totals.rows, logged);
  Warnings unsaid;
  Overflows overflows, unsaid_overflows;
  for (std::size_t e = 0; e < estimators.size(); ++e) {
    const Estimator& estimator = *estimators[e];
    const bool own_is_whole = std::any_of(report.estimates.begin(), report.estimates.end(), [&](const Estimate& own) {
      return own.estimator == estimator.name && own.low && own.high;
    });
    totals.terms = terms_of(estimator, all, in.extra, given);
    if (facts[e].shape) totals.group_error = facts[e].shape->standard_error;
    totals.policy = estimator.point(totals_for(in, finals, p, estimator));
    totals.baseline =
        logged ? logged_point(totals.loss) : estimator.point(totals_for(in, finals, in.baseline.policy, estimator));
    Estimate one;
    if (totals.policy.undefined_reason.empty() && totals.baseline.undefined_reason.empty()) {
      const std::string name = difference_name(estimator.name, baseline_name);
      IntervalInputs inputs{.rows = totals.rows, .point = difference_point(estimator)(totals)};
      const bool zero = same && is_rounding(inputs.point, totals.rows, totals.loss);
      if (zero) inputs.point = {};
      add_facts(in, facts[e], inputs);
      if (facts[e].whole_shape) {
        DifferenceTotals whole = totals;
        whole.terms = all.ips;
        inputs.whole = whole_weights(in, difference_point(kIpsEstimator)(whole), *facts[e].whole_shape);
      }
      add_difference_inputs(estimator, totals, bounds, logged, inputs);
      inputs.outcome = bounds.outcome;
      if (zero) set_to_zero(inputs);
      if (!in.sums.epoch_differences.empty()) inputs.epochs = &in.sums.epoch_differences[p];
      one = finite_estimate(inputs, name, in.options, in.options.loss_threshold ? std::optional(0.0) : std::nullopt,
                            inputs.point.undefined_reason.empty() ? unsaid : warnings,
                            own_is_whole ? overflows : unsaid_overflows);
      if (one.low && inputs.shape && !doubts.has(estimator.name)) doubts.add_difference(name, *inputs.shape);
    }
    one.estimator = estimator.name;
    one.parameter = shown_parameter(in, finals, p, estimator);
    report.difference->estimates.push_back(std::move(one));
  }
  add_overflow_warnings(overflows, report.diagnostics.max_weight, warnings);
}

}  // namespace

std::vector<const Estimator*> difference_estimators(const std::vector<std::vector<const Estimator*>>& chosen,
                                                    const Baseline& baseline, std::size_t p) {
  std::vector<const Estimator*> out;
  if (baseline.kind == Baseline::Kind::none || baseline.is(p)) return out;
  for (const Estimator* estimator : chosen[p]) {
    const bool both = baseline.kind == Baseline::Kind::logged ||
                      std::find(chosen[baseline.policy].begin(), chosen[baseline.policy].end(), estimator) !=
                          chosen[baseline.policy].end();
    if (both && difference_point(*estimator) != nullptr) out.push_back(estimator);
  }
  return out;
}

std::vector<EstimateColumn> estimate_columns(const std::vector<std::vector<const Estimator*>>& chosen,
                                             const Baseline& baseline) {
  std::vector<EstimateColumn> columns;
  for (std::size_t p = 0; p < chosen.size(); ++p) {
    for (const Estimator* estimator : chosen[p]) columns.push_back({p, estimator, {}});
    for (const Estimator* estimator : difference_estimators(chosen, baseline, p))
      columns.push_back({p, estimator, baseline});
  }
  return columns;
}

void report_policies(const ReportInputs& in, const std::vector<NamedPolicy>& policies, std::vector<EstimateFacts> facts,
                     EvaluationReport& report) {
  std::vector<FinalSums> finals;
  for (const WeightSums& sums : in.sums.weights) finals.push_back(add_top_rows(sums, in.rules));
  const KnownBounds bounds = known_bounds(in.options, in.sums.loss, in.reward);
  report.interval_assumption = interval_assumption(in.options.interval, bounds, in.reward);
  std::span<const EstimateFacts> left = facts;
  const auto next = [&left](std::size_t count) { return std::exchange(left, left.subspan(count)).first(count); };
  for (std::size_t p = 0; p < policies.size(); ++p) {
    require_within(bounds, finals[p].weights.top.entries[0].weight, policies[p].name);
    Warnings warnings;
    IntervalDoubts doubts;
    doubts.weights = shape_of_weights(in.groups, in.totals, p);
    PolicyReport& policy =
        report.policies.emplace_back(report_policy(in, finals, p, bounds, next(in.chosen[p].size()), doubts, warnings));
    policy.name = policies[p].name;
    if (in.baseline.kind != Baseline::Kind::none && !in.baseline.is(p)) {
      const std::string name =
          in.baseline.kind == Baseline::Kind::logged ? kLoggedBaseline : policies[in.baseline.policy].name;
      add_difference(in, finals, p, name, bounds, next(difference_estimators(in.chosen, in.baseline, p).size()), doubts,
                     warnings, policy);
    }
    if (in.clustered && in.groups.groups < 2 && finals[p].weights.weight.count > 1)
      warnings.add("all rows belong to one cluster: no variance, no standard error and no interval can be given");
    add_underflow_warning(in.sums.loss, in.reward, warnings);
    const double rows = finals[p].weights.weight.count;
    if (!bounds.hold_for(in.options.interval))
      add_interval_warnings(doubts, in.clustered, rows, policy.diagnostics, warnings);
    const bool logged = in.baseline.kind == Baseline::Kind::logged;
    mark_doubted(warnings, policy.difference && agree_everywhere(in.sums.difference[p], rows, logged), policy);
    policy.diagnostics.warnings = warnings.texts();
  }
}

}  // namespace scrm
