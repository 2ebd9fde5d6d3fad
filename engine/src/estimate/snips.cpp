#include <cmath>

#include "scrm/engine/estimator.hpp"

namespace scrm {
namespace {

PointEstimate snips(const PolicyTotals& totals) {
  PointEstimate out;
  if (!(totals.weight.mean > 0)) {
    out.undefined_reason =
        "every weight is zero: the policy never takes a logged action, and self-normalised weights are undefined";
    return out;
  }
  // Means in a common unit of weight: their ratio has none.
  Moments ips = totals.weighted_loss;
  Moments weight = totals.weight;
  const int unit = std::max(ips.exponent, weight.exponent);
  ips.rescale(unit);
  weight.rescale(unit);
  out.value = ips.mean / weight.mean;
  out.standard_error = std::ldexp(totals.square.root_square_sum_around(out.value), -unit) / (totals.rows * weight.mean);
  // The averaged terms are w (y − value) / mean(w). Their extremes depend on the value, which is known only at the end
  // of the pass: the range of w y plus |value| times the range of w bounds them.
  out.range = (std::ldexp(ips.range(), -unit) + std::abs(out.value) * std::ldexp(weight.range(), -unit)) / weight.mean;
  return out;
}

}  // namespace

/// Self-normalised: Σ w y / Σ w, variance Σ w² (y − value)² / (Σ w)².
const Estimator kSnipsEstimator = {
    .name = "snips",
    .formula = "sum(w y) / sum(w)",
    .point = snips,
    .replicate = [](const ReplicateTotals& totals) { return totals.weighted_loss / totals.weight; },
    .learning = LearningRule{.form = RiskForm::ratio},
};

}  // namespace scrm
