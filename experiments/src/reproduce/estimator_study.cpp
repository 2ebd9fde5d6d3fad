#include "reproduce/estimator_study.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "study/designs/design.hpp"

namespace scrm {
namespace {

constexpr std::uint64_t kSeed = 1;

double target_mean(int target) {
  return target * std::numbers::pi / 4;
}

StudyDesign cosine_design() {
  StudyDesign design;
  design.name = "cosine";
  design.action_kind = ActionKind::continuous;
  design.policy = Policy{};
  design.policy->theta = {0.0};
  design.policy->scale = 1;
  design.draw = [](RandomStream& stream, std::int64_t, Actor, DrawnRow& row) {
    row.action = stream.normal();
    row.loss = std::cos(row.action);
    row.propensity = std::exp(-row.action * row.action / 2) / std::sqrt(2 * std::numbers::pi);
  };
  return design;
}

std::vector<NamedPolicy> target_policies(const Schema& schema) {
  std::vector<NamedPolicy> policies;
  for (int target = 0; target < kStudyTargets; ++target) {
    Policy policy;
    policy.theta = {target_mean(target)};
    policy.scale = 1;
    policies.push_back({std::to_string(target), make_target_policy(policy, schema, "the target")});
  }
  return policies;
}

StudiedEstimate summarize(const std::string& estimator, int target, const std::vector<double>& values) {
  const double truth = std::exp(-0.5) * std::cos(target_mean(target));
  const EstimateErrors errors = errors_of(values, truth);
  return {estimator, target, truth, errors.bias, errors.variance, errors.squared_error};
}

}  // namespace

EstimatorStudy study_estimators(std::int64_t logs, std::int64_t rows, int threads,
                                const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const StudyDesign design = cosine_design();
  EvaluateOptions options;
  options.interval = IntervalKind::normal;
  options.baseline.clear();
  PassOptions pass;
  pass.threads = threads;
  // By estimator and target, one value a log. A log's bits do not depend on threads, and logs come one after another.
  std::vector<std::string> order;
  std::map<std::pair<std::string, int>, std::vector<double>> values;
  std::vector<std::vector<double>> weights(kStudyTargets);
  for (std::int64_t log = 0; log < logs; ++log) {
    DrawnLog drawn = draw_log(design, {kSeed, rows, log});
    options.model = fit_ridge_model(drawn.source, {}, pass);
    const EvaluationReport report = evaluate(drawn.source, target_policies(drawn.source.schema()), options, pass);
    for (int target = 0; target < kStudyTargets; ++target) {
      const PolicyReport& policy = report.policies[static_cast<std::size_t>(target)];
      if (policy.diagnostics.mean_weight)
        weights[static_cast<std::size_t>(target)].push_back(*policy.diagnostics.mean_weight);
      for (const Estimate& estimate : policy.estimates) {
        if (std::find(order.begin(), order.end(), estimate.estimator) == order.end())
          order.push_back(estimate.estimator);
        if (estimate.value) values[{estimate.estimator, target}].push_back(*estimate.value);
      }
    }
    if (progress) progress(log + 1, logs);
  }
  EstimatorStudy study{.logs = logs, .rows = rows, .estimates = {}, .mean_weight = {}};
  for (int target = 0; target < kStudyTargets; ++target) {
    for (const std::string& estimator : order) {
      const std::vector<double>& found = values[{estimator, target}];
      study.estimates.push_back(summarize(estimator, target, found));
      study.estimates.back().undefined = logs - static_cast<std::int64_t>(found.size());
    }
    study.mean_weight.push_back(average(weights[static_cast<std::size_t>(target)]));
  }
  return study;
}

}  // namespace scrm
