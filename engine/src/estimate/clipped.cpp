#include "estimate/estimator.hpp"

namespace scrm {

/// Clipped weights: mean(min(w, M) y).
const Estimator kClippedEstimator = {
    "clipped",
    no_obstacle,
    [](const PolicyTotals& totals) {
      PointEstimate out = average_of(totals.clipped);
      out.parameter = totals.clip;
      return out;
    },
    [](const ReplicateTotals& totals) { return totals.clipped / totals.rows; },
};

}  // namespace scrm
