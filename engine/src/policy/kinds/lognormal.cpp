#include <cmath>

#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/score_gradients.hpp"

namespace scrm {

/// log a ~ N(μ(x), scale²)
PolicyKindDefinition lognormal_kind() {
  return {
      .format = {.kind = PolicyKind::lognormal, .scale = "standard deviation"},
      .actions = {ActionKind::continuous},
      .log_density = [](const Policy& policy, const Block& block, const double* scores,
                        double* out) { lognormal_log_density(block.action, scores, policy.scale, out); },
      .score_gradient =
          [](const Policy& policy, const Block& block, double* scores, double* log_density) {
            lognormal_gradient(block.action, policy.scale, scores, log_density);
          },
      .scale_gradient = [](const Policy& policy, const Block& block, const double* scores,
                           double* out) { lognormal_scale_gradient(block.action, scores, policy.scale, out); },
      .action_moments =
          [](const Policy& policy, const double* scores, int rows, double* mean, double* variance) {
            const double square = policy.scale * policy.scale, spread = std::expm1(square);
            for (int i = 0; i < rows; ++i) mean[i] = std::exp(scores[i] + square / 2);
            for (int i = 0; i < rows; ++i) variance[i] = mean[i] * mean[i] * spread;
          },
      // The mean's derivative by the score is the mean, the variance's is twice the variance.
      .expectation_gradient =
          [](const Policy& policy, const Block& block, const OutcomeCoefficients& q, double* scores,
             double* expectation) {
            const double square = policy.scale * policy.scale, spread = std::expm1(square);
            for (int i = 0; i < block.rows; ++i) {
              const double mean = std::exp(scores[i] + square / 2) / q.scale;
              const double u = mean - q.centre / q.scale, variance = mean * mean * spread;
              const double q1 = q.columns[cell(1, i)], q2 = q.columns[cell(2, i)];
              expectation[i] = q.columns[i] + q1 * u + q2 * (u * u + variance);
              scores[i] = mean * (q1 + 2 * q2 * u) + 2 * variance * q2;
            }
          },
      .actions_from_normals =
          [](const Policy& policy, int rows, const double* scores, const double* normals, double* actions) {
            for (int i = 0; i < rows; ++i) actions[i] = scores[i] + policy.scale * normals[i];
            for (int i = 0; i < rows; ++i) actions[i] = std::exp(actions[i]);
          },
      .centre = [](double action) { return std::log(action); },
  };
}

}  // namespace scrm
