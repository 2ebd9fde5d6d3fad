/// What evaluate says of every policy: estimates, diagnostics and differences, from the sums of a pass.
#pragma once

#include <optional>
#include <vector>

#include "estimate/difference.hpp"
#include "estimate/evaluation_reduction.hpp"
#include "estimate/intervals/intervals.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

/// What the reports of all policies are made from.
struct ReportInputs {
  const EvaluationSums& sums;
  const std::vector<std::vector<const Estimator*>>& chosen;
  const ExtraTerms& extra;
  const WeightOptions& rules;
  const Baseline& baseline;
  const EvaluateOptions& options;
  const GroupTable& groups;
  const std::vector<double>& totals;  ///< of the groups
  bool clustered;                     ///< the groups are clusters of rows
  bool reward;                        ///< how messages show outcomes
  int num_actions;                    ///< of multilabel actions, the labels
};

/// What is known of an estimate beside its sums.
struct EstimateFacts {
  std::optional<Shape> shape;
  std::optional<Shape> whole_shape;         ///< of ips, where the estimator makes its weights smaller
  std::optional<double> critical;           ///< simultaneous intervals
  std::optional<ReplicateFacts> bootstrap;  ///< none where some replicates are not defined
};

/// The estimates of every policy and then its differences: the order of EstimateFacts.
std::vector<EstimateColumn> estimate_columns(const std::vector<std::vector<const Estimator*>>& chosen,
                                             const Baseline& baseline);

/// The estimators that a policy's difference is given for: those of both sides.
std::vector<const Estimator*> difference_estimators(const std::vector<std::vector<const Estimator*>>& chosen,
                                                    const Baseline& baseline, std::size_t p);

/// Adds the reports of all policies.
void report_policies(const ReportInputs& in, const std::vector<NamedPolicy>& policies, std::vector<EstimateFacts> facts,
                     EvaluationReport& report);

}  // namespace scrm
