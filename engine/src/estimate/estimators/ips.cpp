#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {

/// Inverse propensity scoring.
const Estimator kIpsEstimator = {
    .name = "ips",
    .formula = "mean(w y)",
    .learning = LearningRule{},
};

}  // namespace scrm
