#include <array>
#include <cmath>

#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

PointEstimate self_normalised(const PolicyTotals& totals) {
  PointEstimate out;
  const TripleMoments& joint = totals.model.joint;
  const auto [prediction, residual, weight] = joint.mean;
  if (!(weight > 0)) {
    out.undefined_reason =
        "every weight is zero: the policy never takes a logged action, and self-normalised weights are undefined";
    return out;
  }
  const double correction = residual / weight;
  out.value = prediction + correction;
  // The delta method, on the means of q_π, w (y − q) and w.
  const std::array<double, 3> slopes = {1, 1 / weight, -correction / weight};
  out.standard_error = std::sqrt(joint.variance_along(slopes) / joint.count);
  // A bound of the range of q_π + w (y − q − correction) / w̄.
  out.range = totals.model.prediction.range() +
              (totals.model.residual.range() + std::abs(correction) * totals.weight.range()) / weight;
  return out;
}

double replicate(const ReplicateTotals& totals) {
  return totals.prediction / totals.rows + totals.residual / totals.weight;
}

double influence(const ReplicateTotals& all, const ReplicateTotals& group) {
  return group.prediction - group.rows * (all.prediction / all.rows) +
         (group.residual - all.residual / all.weight * group.weight) / (all.weight / all.rows);
}

}  // namespace

/// Doubly robust with the residuals' weights divided by their sum.
const Estimator kSndrEstimator = {
    .name = "sndr",
    .formula = "mean(q_pi) + sum(w (y - q)) / sum(w)",
    .needs_model = true,
    .point = self_normalised,
    .replicate = replicate,
    .influence = influence,
    .difference = difference_of_values,
};

}  // namespace scrm
