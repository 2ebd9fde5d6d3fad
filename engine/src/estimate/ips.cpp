#include "estimate/estimator.hpp"

namespace scrm {

/// Inverse propensity scoring: mean(w y).
const Estimator kIpsEstimator = {
    "ips",
    no_obstacle,
    [](const PolicyTotals& totals) { return average_of(totals.ips); },
    [](const ReplicateTotals& totals) { return totals.ips / totals.rows; },
};

}  // namespace scrm
