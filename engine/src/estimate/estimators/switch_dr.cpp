#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

void weights_up_to(std::span<const double> weights, double threshold, double* out) {
  for (std::size_t i = 0; i < weights.size(); ++i) out[i] = weights[i] <= threshold ? weights[i] : 0;
}

}  // namespace

/// Doubly robust where weights are moderate; beyond τ the model alone is trusted (Wang, Agarwal and Dudík 2017).
const Estimator kSwitchDrEstimator = {
    .name = "switch-dr",
    .formula = "mean(q_pi + w (y - q) [w <= tau]), tau tuned",
    .needs_model = true,
    .tuned = TunedResidual{.weights = weights_up_to, .parameter = [](double scale) { return scale; }, .symbol = "tau"},
    .difference = difference_of_values,
};

}  // namespace scrm
