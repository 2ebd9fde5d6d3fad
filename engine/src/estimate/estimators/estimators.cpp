#include <fmt/format.h>

#include <cmath>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

std::vector<const Estimator*>& registry() {
  static std::vector<const Estimator*> all = {
#define SCRM_ESTIMATOR(name) &name,
#include "scrm/engine/estimate/estimators.inc"
#undef SCRM_ESTIMATOR
  };
  return all;
}

const Estimator* find(const std::string& name) {
  for (const Estimator* estimator : registry()) {
    if (name == estimator->name) return estimator;
  }
  return nullptr;
}

void require_positive(const std::optional<double>& value, const char* name, const char* automatic) {
  if (value && !(*value > 0 && std::isfinite(*value))) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is {}, but must be above zero (or auto: {})", name, *value, automatic));
  }
}

}  // namespace

PointEstimate mean_of(const Moments& terms) {
  PointEstimate out;
  out.value = terms.true_mean();
  out.standard_error = terms.standard_deviation() / std::sqrt(terms.count);
  out.range = terms.range();
  return out;
}

const std::vector<const Estimator*>& all_estimators() {
  return registry();
}

void register_estimator(const Estimator& estimator) {
  const auto refuse = [&](const char* reason) {
    throw Error(ErrorKind::usage, fmt::format("the estimator '{}' cannot be registered: {}", estimator.name, reason));
  };
  if (find(estimator.name) != nullptr) refuse("there is one of this name already");
  const bool given = estimator.transform == WeightTransform::given;
  if (given != (estimator.weight_function != nullptr)) {
    refuse("WeightTransform::given and a weight_function go together");
  }
  // An automatic M is known only after the pass: the sums of `clipped` alone are ready for that.
  if ((estimator.parameter == EstimatorParameter::clip) != (estimator.transform == WeightTransform::clip)) {
    refuse("EstimatorParameter::clip and WeightTransform::clip go together");
  }
  if (estimator.transform == WeightTransform::ix && estimator.parameter != EstimatorParameter::alpha) {
    refuse("WeightTransform::ix takes EstimatorParameter::alpha");
  }
  if (estimator.tuned && !estimator.needs_model) refuse("a tuned residual is that of a model: set needs_model");
  const bool averages = !estimator.learning || estimator.learning->form == RiskForm::average;
  if (!averages && estimator.transform != WeightTransform::none) refuse("only averages have a weight transform");
  registry().push_back(&estimator);
}

std::vector<std::string> estimator_names() {
  std::vector<std::string> names;
  for (const Estimator* estimator : registry()) names.emplace_back(estimator->name);
  return names;
}

std::vector<std::string> learning_estimator_names() {
  std::vector<std::string> names;
  for (const Estimator* estimator : registry()) {
    if (estimator->learning) names.emplace_back(estimator->name);
  }
  return names;
}

const Estimator& find_estimator(const std::string& name) {
  if (const Estimator* found = find(name)) return *found;
  throw Error(ErrorKind::usage, fmt::format("there is no estimator '{}'; the estimators are {}", name,
                                            fmt::join(estimator_names(), ", ")));
}

const Estimator& find_learning_estimator(const std::string& name) {
  const Estimator* found = find(name);
  if (found != nullptr && found->learning) return *found;
  throw Error(ErrorKind::usage, fmt::format("there is no estimator '{}' to learn with; choose among {}", name,
                                            fmt::join(learning_estimator_names(), ", ")));
}

void require_applicable(const Estimator& estimator, const Schema& schema, const TargetPolicy& policy,
                        const std::string& policy_name) {
  const std::string reason = estimator.inapplicable_reason(schema, policy);
  if (!reason.empty()) refuse_estimator(estimator, reason, policy_name);
}

void refuse_estimator(const Estimator& estimator, const std::string& reason, const std::string& policy_name) {
  throw Error(ErrorKind::data, fmt::format("the estimator '{}' does not apply: {}", estimator.name, reason),
              {.file = policy_name});
}

double parameter_value(const Estimator& estimator, double alpha, double clip) {
  switch (estimator.parameter) {
    case EstimatorParameter::alpha:
      return alpha;
    case EstimatorParameter::clip:
      return clip;
    case EstimatorParameter::none:
      break;
  }
  return 0;
}

void require_valid_parameters(const std::optional<double>& alpha, const std::optional<double>& clip) {
  require_positive(alpha, "alpha", "one over the rows");
  require_positive(clip, "clip", "the fifth-largest weight");
}

double effective_sample_size(const Moments& weights) {
  const double square = weights.mean * weights.mean;
  return square > 0 ? weights.count * (square / (square + weights.square_sum / weights.count)) : 0;
}

PointEstimate mean_of_terms(const PolicyTotals& totals) {
  return mean_of(totals.terms);
}

PointEstimate mean_of_term_differences(const DifferenceTotals& totals) {
  return mean_of(totals.terms);
}

PointEstimate difference_of_values(const DifferenceTotals& totals) {
  PointEstimate out;
  out.value = totals.policy.value - totals.baseline.value;
  out.standard_error = totals.group_error;
  out.range = totals.policy.range + totals.baseline.range;  // a bound
  return out;
}

double replicate_mean_of_terms(const ReplicateTotals& totals) {
  return totals.terms / totals.rows;
}

double influence_on_mean_of_terms(const ReplicateTotals& all, const ReplicateTotals& group) {
  return group.terms - group.rows * (all.terms / all.rows);
}

double influence_of(const Estimator& estimator, const ReplicateTotals& all, const ReplicateTotals& group) {
  if (estimator.influence != nullptr) return estimator.influence(all, group);
  if (estimator.replicate == replicate_mean_of_terms) return influence_on_mean_of_terms(all, group);
  // A central difference: the group counts a little more, and a little less.
  constexpr double kStep = 1e-4;
  const auto with = [&](double share) {
    return estimator.replicate({.rows = all.rows + share * group.rows,
                                .loss = all.loss + share * group.loss,
                                .weight = all.weight + share * group.weight,
                                .weighted_loss = all.weighted_loss + share * group.weighted_loss,
                                .terms = all.terms + share * group.terms,
                                .additive_u = all.additive_u + share * group.additive_u,
                                .additive_s = all.additive_s + share * group.additive_s,
                                .prediction = all.prediction + share * group.prediction,
                                .residual = all.residual + share * group.residual,
                                .additive_terms = all.additive_terms + share * group.additive_terms});
  };
  return (with(kStep) - with(-kStep)) / (2 * kStep) * all.rows;
}

std::string always_applicable(const Schema&, const TargetPolicy&) {
  return {};
}

}  // namespace scrm
