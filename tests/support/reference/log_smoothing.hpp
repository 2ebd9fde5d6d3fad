/// An estimator that the library does not have, as somebody outside would write it, for tests.
#pragma once

#include <cmath>

#include "scrm/engine/estimate/estimator.hpp"
#include "support/reference/reference.hpp"

namespace scrm::testing {

inline ValueAndSlope log_smoothing(double w, double alpha) {
  return {std::log1p(alpha * w) / alpha, w / (1 + alpha * w)};
}

/// Logarithmic smoothing (Sakhi et al., 2024): mean(log(1 + α w) / α · y).
inline const Estimator kLogSmoothing = {
    .name = "log-smoothing",
    .formula = "mean(log(1 + alpha w) / alpha y)",
    .parameter = EstimatorParameter::alpha,
    .transform = WeightTransform::given,
    .weight_function = for_each_weight<log_smoothing>,
    .learning = LearningRule{.control_variate = 0.5},
};

inline reference::Real log_smoothed(reference::Real w, reference::Real alpha) {
  return std::log1p(alpha * w) / alpha;
}

}  // namespace scrm::testing
