#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

double replicate(const ReplicateTotals& totals) {
  return (totals.prediction + totals.residual) / totals.rows;
}

}  // namespace

/// Doubly robust: the model's expectation, corrected by the weighted residuals of the logged actions.
const Estimator kDrEstimator = {
    .name = "dr",
    .formula = "mean(q_pi + w (y - q))",
    .needs_model = true,
    .point = [](const PolicyTotals& totals) { return mean_of(totals.model.terms); },
    .replicate = replicate,
    .influence =
        [](const ReplicateTotals& all, const ReplicateTotals& group) {
          return group.prediction + group.residual - group.rows * replicate(all);
        },
    .difference = [](const DifferenceTotals& totals) { return mean_of(totals.model.terms); },
    .learning = LearningRule{.form = RiskForm::model, .correction = Correction::weights},
};

}  // namespace scrm
