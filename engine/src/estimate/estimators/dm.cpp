#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {

/// The direct method: what the model expects of the policy's actions. Nothing corrects the model where it is wrong.
const Estimator kDmEstimator = {
    .name = "dm",
    .formula = "mean(q_pi); its interval says nothing of the model's bias",
    .needs_model = true,
    .point = [](const PolicyTotals& totals) { return mean_of(totals.model.prediction); },
    .replicate = [](const ReplicateTotals& totals) { return totals.prediction / totals.rows; },
    .influence =
        [](const ReplicateTotals& all, const ReplicateTotals& group) {
          return group.prediction - group.rows * (all.prediction / all.rows);
        },
    .difference = [](const DifferenceTotals& totals) { return mean_of(totals.model.prediction); },
    .learning = LearningRule{.form = RiskForm::model},
};

}  // namespace scrm
