#include <algorithm>
#include <cmath>

#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/score_gradients.hpp"

namespace scrm {
namespace {

/// Scores of the row lie `stride` apart.
void draw_bits(const Policy& policy, const double* scores, std::int64_t stride, int row, RandomStream& random,
               BlockBuffer& actions) {
  const bool joint = policy.mixing == Mixing::joint;
  const bool fair = joint && random.uniform() < policy.epsilon;
  const double epsilon = joint ? 0.0 : policy.epsilon;
  for (int k = 0; k < policy.outputs; ++k) {
    const double logistic = 1.0 / (1.0 + std::exp(-scores[k * stride]));
    const double one = fair ? 0.5 : (1 - epsilon) * logistic + epsilon / 2;
    actions.bits()[cell(k, row)] = random.uniform() < one ? 1 : 0;
  }
}

void sample(const Policy& policy, const Block&, const double* scores, int row, RandomStream& random,
            BlockBuffer& actions) {
  draw_bits(policy, scores + row, kBlockRows, row, random, actions);
}

void sample_tile(const Policy& policy, const Block&, const ScoreTile& all, int row, RandomStream& random,
                 BlockBuffer& actions) {
  draw_bits(policy, all.scores + (row - all.first_row), all.stride, row, random, actions);
}

/// E[±bit k] = 2 π_k − 1, ε mixed jointly or label by label: of single bits both are the same.
void expectation_gradient(const Policy& policy, const Block& block, const OutcomeCoefficients& q, double* scores,
                          double* expectation) {
  std::copy_n(q.columns, block.rows, expectation);
  for (int k = 0; k < policy.outputs; ++k) {
    double* column = scores + cell(k, 0);
    const double* label = q.columns + cell(k + 1, 0);
    for (int i = 0; i < block.rows; ++i) {
      const double tail = 1 / (1 + std::exp(std::abs(column[i])));  // of the less likely bit: 1 − p has no digits left
      expectation[i] += (1 - policy.epsilon) * std::copysign(1 - 2 * tail, column[i]) * label[i];
      column[i] = (1 - policy.epsilon) * 2 * tail * (1 - tail) * label[i];
    }
  }
}

}  // namespace

/// K independent bits with probability σ(score_k), mixed with fair ones jointly or label by label.
PolicyKindDefinition multilabel_kind() {
  return {
      .format = {.kind = PolicyKind::multilabel, .theta = ThetaRows::per_action, .epsilon = true, .mixing = true},
      .actions = {ActionKind::multilabel},
      .log_density =
          [](const Policy& policy, const Block& block, const double* scores, double* out) {
            multilabel_log_probability(block.bits, scores, policy.outputs, policy.epsilon, policy.mixing, out);
          },
      .add_tile =
          [](const Policy& policy, const Block& block, const ScoreTile& tile, double* out) {
            add_multilabel_tile(tile, block.bits, policy.outputs, policy.epsilon, policy.mixing, out);
          },
      .score_gradient =
          [](const Policy& policy, const Block& block, double* scores, double* log_density) {
            multilabel_gradient(block.bits, policy.outputs, policy.epsilon, policy.mixing, scores, log_density);
          },
      .label_probability =
          [](const Policy& policy, const Block& block, const double* scores, double* out) {
            multilabel_label_probability(block.bits, scores, policy.outputs, policy.epsilon, out);
          },
      .label_gradient =
          [](const Policy& policy, const Block& block, double* scores, double* probability) {
            label_gradient(block.bits, policy.outputs, policy.epsilon, scores, probability);
          },
      .expectation_gradient = expectation_gradient,
      .sample = sample,
      .sample_tile = sample_tile,
  };
}

}  // namespace scrm
