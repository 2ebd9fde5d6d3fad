#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {

/// Weights clipped at M.
const Estimator kClippedEstimator = {
    .name = "clipped",
    .formula = "mean(min(w, M) y)",
    .parameter = EstimatorParameter::clip,
    .transform = WeightTransform::clip,
    .learning = LearningRule{},
};

}  // namespace scrm
