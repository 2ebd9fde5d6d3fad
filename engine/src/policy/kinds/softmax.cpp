#include <algorithm>
#include <cassert>
#include <cmath>

#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/score_gradients.hpp"
#include "scrm/kernels/vector/elementary.hpp"

namespace scrm {
namespace {

/// Inverse of the cumulative softmax, with the scores shifted so that none overflows. The scores of the row lie
/// `stride` apart.
int draw_softmax(const double* scores, std::int64_t stride, int outputs, RandomStream& random) {
  double highest = scores[0];
  for (int k = 1; k < outputs; ++k) highest = std::max(highest, scores[k * stride]);
  double total = 0;
  for (int k = 0; k < outputs; ++k) total += std::exp(scores[k * stride] - highest);
  double left = random.uniform() * total;
  for (int k = 0; k < outputs; ++k) {
    left -= std::exp(scores[k * stride] - highest);
    if (left < 0) return k;
  }
  // Rounding can leave a crumb after the last action; it belongs to the likeliest one, which surely has support.
  for (int k = 0; k < outputs; ++k) {
    if (scores[k * stride] == highest) return k;
  }
  return outputs - 1;
}

int draw_action(const Policy& policy, const double* scores, std::int64_t stride, RandomStream& random) {
  const bool explore = random.uniform() < policy.epsilon;
  return explore ? uniform_index(policy.outputs, random) : draw_softmax(scores, stride, policy.outputs, random);
}

void sample(const Policy& policy, const Block&, const double* scores, int row, RandomStream& random,
            BlockBuffer& actions) {
  actions.category()[row] = draw_action(policy, scores + row, kBlockRows, random);
}

void sample_tile(const Policy& policy, const Block&, const ScoreTile& all, int row, RandomStream& random,
                 BlockBuffer& actions) {
  actions.category()[row] = draw_action(policy, all.scores + (row - all.first_row), all.stride, random);
}

void probabilities(const Policy& policy, int actions, int rows, std::int64_t stride, double* scores) {
  assert(rows <= kScoreTileRows);
  double highest[kScoreTileRows], total[kScoreTileRows] = {};
  std::copy_n(scores, rows, highest);
  for (int k = 1; k < actions; ++k) {
    const double* column = scores + k * stride;
    for (int i = 0; i < rows; ++i) highest[i] = column[i] > highest[i] ? column[i] : highest[i];
  }
  for (int k = 0; k < actions; ++k) {
    double* column = scores + k * stride;
    for (int i = 0; i < rows; ++i) column[i] -= highest[i];
    exp_array(column, column, rows);
    for (int i = 0; i < rows; ++i) total[i] += column[i];
  }
  for (int i = 0; i < rows; ++i) total[i] = (1 - policy.epsilon) / total[i];
  for (int k = 0; k < actions; ++k) {
    double* column = scores + k * stride;
    for (int i = 0; i < rows; ++i) column[i] = column[i] * total[i] + policy.epsilon / actions;
  }
}

/// ∂/∂s_k Σ_a p_a q_a = p_k (q_k − Σ_a p_a q_a), p the softmax without ε.
void expectation_gradient(const Policy& policy, const Block& block, const OutcomeCoefficients& q, double* scores,
                          double* expectation) {
  Policy pure = policy;
  pure.epsilon = 0;
  const int actions = policy.outputs;
  for (int first = 0; first < block.rows; first += kScoreTileRows) {
    const int rows = std::min(kScoreTileRows, block.rows - first);
    probabilities(pure, actions, rows, kBlockRows, scores + first);
    double* mean = expectation + first;
    double fair[kScoreTileRows] = {};
    std::fill_n(mean, rows, 0.0);
    for (int k = 0; k < actions; ++k) {
      for (int i = 0; i < rows; ++i) {
        const std::size_t at = cell(k, first + i);
        mean[i] += scores[at] * q.columns[at];
        fair[i] += q.columns[at] / actions;
      }
    }
    for (int k = 0; k < actions; ++k) {
      for (int i = 0; i < rows; ++i) {
        const std::size_t at = cell(k, first + i);
        scores[at] *= (1 - policy.epsilon) * (q.columns[at] - mean[i]);
      }
    }
    for (int i = 0; i < rows; ++i) mean[i] = (1 - policy.epsilon) * mean[i] + policy.epsilon * fair[i];
  }
}

}  // namespace

/// One of K actions with probability (1−ε) softmax(scores) + ε/K.
PolicyKindDefinition softmax_kind() {
  return {
      .format = {.kind = PolicyKind::softmax, .theta = ThetaRows::per_action, .epsilon = true},
      .actions = {ActionKind::categorical},
      .log_density =
          [](const Policy& policy, const Block& block, const double* scores, double* out) {
            softmax_log_probability(block.category, scores, policy.outputs, policy.epsilon, out);
          },
      .add_tile = [](const Policy& policy, const Block& block, const ScoreTile& tile,
                     double* out) { add_softmax_tile(tile, block.category, policy.outputs, policy.epsilon, out); },
      .add_density_tile =
          [](const Policy& policy, const Block& block, const ScoreTile& tile, const double* propensity, double* out) {
            add_softmax_density_tile(tile, block.category, policy.outputs, policy.epsilon, propensity, out);
          },
      .score_gradient =
          [](const Policy& policy, const Block& block, double* scores, double* log_density) {
            softmax_gradient(block.category, policy.outputs, policy.epsilon, scores, log_density);
          },
      .tile_gradient =
          [](const Policy& policy, const Block& block, const ScoreTile& tile, double* scores) {
            softmax_tile_gradient(tile, block.category, policy.outputs, policy.epsilon, scores);
          },
      .action_probabilities = probabilities,
      .expectation_gradient = expectation_gradient,
      .sample = sample,
      .sample_tile = sample_tile,
  };
}

}  // namespace scrm
