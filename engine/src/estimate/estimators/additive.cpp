#include <cmath>

#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

std::string inapplicable_reason(const Schema& schema, const TargetPolicy& policy) {
  if (schema.action_kind != ActionKind::multilabel) return "it is for multilabel actions";
  if (!schema.label_propensity) return "the data has no dataset label_propensity";
  if (!policy.has_label_probability()) return "the policy gives no probabilities of single labels";
  return {};
}

// Terms t = y + (y − ȳ) S: their moments follow from those around any other centre.
PointEstimate mean_around(AdditiveSums sums, double mean_loss) {
  sums.recentre(mean_loss);
  const PairMoments& pair = sums.pair;
  PointEstimate out;
  out.value = pair.mean_a;
  out.standard_error = std::sqrt(pair.aa / (pair.count - 1) / pair.count);
  out.range = pair.highest_a - pair.lowest_a;
  return out;
}

PointEstimate additive(const PolicyTotals& totals) {
  return mean_around(totals.additive, totals.loss.true_mean());
}

// Terms (y − ȳ) S: y itself is in both sides.
PointEstimate difference(const DifferenceTotals& totals) {
  return mean_around(totals.additive, totals.loss.true_mean());
}

double replicate(const ReplicateTotals& totals) {
  return (totals.additive_u - totals.loss / totals.rows * totals.additive_s) / totals.rows;
}

/// Of t = y + (y − ȳ) S, with ȳ as it is: as its standard error takes it.
double influence(const ReplicateTotals& all, const ReplicateTotals& group) {
  return group.additive_u - all.loss / all.rows * group.additive_s - group.rows * replicate(all);
}

}  // namespace

/// Label by label, w_k = π_k / (p_k + α π_k).
const Estimator kAdditiveEstimator = {
    .name = "additive",
    .formula = "mean(y) + mean((y - mean(y)) sum_k(w_k - 1)), w_k = pi_k / (p_k + alpha pi_k), k a label",
    .parameter = EstimatorParameter::alpha,
    .label_sums = true,
    .inapplicable_reason = inapplicable_reason,
    .point = additive,
    .replicate = replicate,
    .influence = influence,
    .difference = difference,
    .learning = LearningRule{.form = RiskForm::labels},
};

}  // namespace scrm
