#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {

/// Implicit exploration: w_ix = π / (p + α π) = w / (1 + α w). The variance that is penalised is that of (w_ix − 1) y.
const Estimator kIpsIxEstimator = {
    .name = "ips-ix",
    .formula = "mean(w y / (1 + alpha w))",
    .parameter = EstimatorParameter::alpha,
    .transform = WeightTransform::ix,
    .learning = LearningRule{.control_variate = 1},
};

}  // namespace scrm
