#include "estimate/estimator.hpp"

namespace scrm {

/// Inverse propensity scoring: mean(w y).
const Estimator kIpsEstimator = {
    "ips",
    always_applicable,
    [](const PolicyTotals& totals) { return mean_estimate(totals.ips); },
    [](const ReplicateTotals& totals) { return totals.ips / totals.rows; },
};

}  // namespace scrm
