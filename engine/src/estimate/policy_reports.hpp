/// What evaluate says of every policy: estimates, diagnostics and differences, from the sums of a pass.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "estimate/difference.hpp"
#include "estimate/evaluation_reduction.hpp"
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
};

/// The estimators that a policy's difference is given for: those of both sides.
std::vector<const Estimator*> difference_estimators(const std::vector<std::vector<const Estimator*>>& chosen,
                                                    const Baseline& baseline, std::size_t p);

/// Ends of an interval.
using Bounds = std::optional<std::pair<double, double>>;

/// Adds the reports of all policies. `bootstrap` are the ends of bootstrap intervals, or none: for each policy those of
/// its estimators, then those of its differences.
void report_policies(const ReportInputs& in, const std::vector<NamedPolicy>& policies,
                     const std::vector<Bounds>& bootstrap, EvaluationReport& report);

}  // namespace scrm
