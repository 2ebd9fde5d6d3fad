#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

/// λ w / (w² + λ), as w / (1 + (w/√λ)²): w² of a huge weight would overflow.
void shrunk_weights(std::span<const double> weights, double lambda, double* out) {
  const double inverse = 1 / lambda;
  for (std::size_t i = 0; i < weights.size(); ++i) out[i] = weights[i] / (1 + weights[i] * inverse * weights[i]);
}

/// Its derivative by log w: with u = w²/λ, w (1 − u) / (1 + u)².
void slopes_of_shrunk(std::span<const double> weights, double lambda, double* out) {
  const double inverse = 1 / lambda;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double w = weights[i], u = w * inverse * w;
    out[i] = w / (1 + u) * ((1 - u) / (1 + u));
  }
}

}  // namespace

/// Doubly robust with optimistic shrinkage (Su, Dimakopoulou, Krishnamurthy and Dudík 2020).
const Estimator kDrosEstimator = {
    .name = "dros",
    .formula = "mean(q_pi + lambda w / (w^2 + lambda) (y - q)), lambda tuned",
    .needs_model = true,
    .tuned = TunedResidual{.weights = shrunk_weights,
                           .slopes = slopes_of_shrunk,
                           .parameter = [](double scale) { return scale * scale; },
                           .symbol = "lambda"},
    .difference = difference_of_values,
    .learning = LearningRule{.form = RiskForm::model, .correction = Correction::weights},
};

}  // namespace scrm
