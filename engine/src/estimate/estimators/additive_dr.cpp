#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {

/// The additive estimator of what a model leaves over: unbiased where losses are a sum over labels, as the model is.
const Estimator kAdditiveDrEstimator = {
    .name = "additive-dr",
    .formula = "mean(q_pi + (y - q) (1 + sum_k(w_k - 1))), w_k as in additive",
    .parameter = EstimatorParameter::alpha,
    .label_sums = true,
    .needs_model = true,
    .inapplicable_reason =
        [](const Schema& schema, const TargetPolicy& policy) {
          return kAdditiveEstimator.inapplicable_reason(schema, policy);
        },
    .point = [](const PolicyTotals& totals) { return mean_of(totals.model.additive); },
    .replicate = [](const ReplicateTotals& totals) { return totals.additive_terms / totals.rows; },
    .influence =
        [](const ReplicateTotals& all, const ReplicateTotals& group) {
          return group.additive_terms - group.rows * (all.additive_terms / all.rows);
        },
    .difference = [](const DifferenceTotals& totals) { return mean_of(totals.model.additive); },
    .learning = LearningRule{.form = RiskForm::model, .correction = Correction::labels},
};

}  // namespace scrm
