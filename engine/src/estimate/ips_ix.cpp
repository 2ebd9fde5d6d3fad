#include "estimate/estimator.hpp"

namespace scrm {

/// Implicit exploration: mean(w_ix y), w_ix = π / (p + α π) = w / (1 + α w).
const Estimator kIpsIxEstimator = {
    "ips-ix",
    always_applicable,
    [](const PolicyTotals& totals) {
      PointEstimate out = mean_estimate(totals.ix);
      out.parameter = totals.alpha;
      return out;
    },
    [](const ReplicateTotals& totals) { return totals.ix / totals.rows; },
};

}  // namespace scrm
