#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/score_gradients.hpp"

namespace scrm {

/// a ~ N(μ(x), scale²)
PolicyKindDefinition gaussian_kind() {
  return {
      .format = {.kind = PolicyKind::gaussian, .scale = "standard deviation"},
      .actions = {ActionKind::continuous},
      .log_density = [](const Policy& policy, const Block& block, const double* scores,
                        double* out) { gaussian_log_density(block.action, scores, policy.scale, out); },
      .score_gradient = [](const Policy& policy, const Block& block, double* scores,
                           double* log_density) { gaussian_gradient(block.action, policy.scale, scores, log_density); },
      .scale_gradient = [](const Policy& policy, const Block& block, const double* scores,
                           double* out) { gaussian_scale_gradient(block.action, scores, policy.scale, out); },
      .action_moments =
          [](const Policy& policy, const double* scores, int rows, double* mean, double* variance) {
            std::copy_n(scores, rows, mean);
            std::fill_n(variance, rows, policy.scale * policy.scale);
          },
      .expectation_gradient =
          [](const Policy& policy, const Block& block, const OutcomeCoefficients& q, double* scores,
             double* expectation) {
            const double spread = policy.scale / q.scale;
            for (int i = 0; i < block.rows; ++i) {
              const double u = (scores[i] - q.centre) / q.scale;
              const double q1 = q.columns[cell(1, i)], q2 = q.columns[cell(2, i)];
              expectation[i] = q.columns[i] + q1 * u + q2 * (u * u + spread * spread);
              scores[i] = (q1 + 2 * q2 * u) / q.scale;
            }
          },
      .actions_from_normals =
          [](const Policy& policy, int rows, const double* scores, const double* normals, double* actions) {
            for (int i = 0; i < rows; ++i) actions[i] = scores[i] + policy.scale * normals[i];
          },
      .centre = [](double action) { return action; },
  };
}

}  // namespace scrm
