#include "estimate/estimator.hpp"

namespace scrm {

/// Clipped weights: mean(min(w, M) y).
const Estimator kClippedEstimator = {
    "clipped",
    always_applicable,
    [](const PolicyTotals& totals) {
      PointEstimate out = mean_estimate(totals.clipped);
      out.parameter = totals.clip;
      return out;
    },
    [](const ReplicateTotals& totals) { return totals.clipped / totals.rows; },
};

}  // namespace scrm
