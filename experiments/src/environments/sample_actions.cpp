#include "scrm/experiments/sample_actions.hpp"

#include <algorithm>
#include <cmath>

namespace scrm {

namespace {

std::size_t cell(int column, int row) {
  return static_cast<std::size_t>(column) * kBlockRows + static_cast<std::size_t>(row);
}

double logistic(double score) {
  return 1.0 / (1.0 + std::exp(-score));
}

int uniform_index(int count, RandomStream& random) {
  return std::min(static_cast<int>(random.uniform() * count), count - 1);
}

/// Inverse of the cumulative softmax, with the scores shifted so that none overflows.
int draw_softmax(const double* scores, int row, int outputs, RandomStream& random) {
  double highest = scores[cell(0, row)];
  for (int k = 1; k < outputs; ++k) highest = std::max(highest, scores[cell(k, row)]);
  double total = 0;
  for (int k = 0; k < outputs; ++k) total += std::exp(scores[cell(k, row)] - highest);
  double left = random.uniform() * total;
  for (int k = 0; k < outputs; ++k) {
    left -= std::exp(scores[cell(k, row)] - highest);
    if (left < 0) return k;
  }
  // Rounding can leave a crumb after the last action; it belongs to the likeliest one, which surely has support.
  for (int k = 0; k < outputs; ++k) {
    if (scores[cell(k, row)] == highest) return k;
  }
  return outputs - 1;
}

void draw_continuous(const Policy& policy, const double* means, int row, bool float32, double draw, double* action) {
  const double normal = means[row] + policy.scale * draw;
  const double drawn = policy.kind == PolicyKind::lognormal ? std::exp(normal) : normal;
  action[row] = float32 ? static_cast<double>(static_cast<float>(drawn)) : drawn;
}

void draw_category(const Policy& policy, const double* scores, int row, int actions, RandomStream& random,
                   std::int32_t* category) {
  const bool explore = policy.kind == PolicyKind::uniform || random.uniform() < policy.epsilon;
  category[row] = explore ? uniform_index(actions, random) : draw_softmax(scores, row, policy.outputs, random);
}

void draw_bits(const Policy& policy, const double* scores, int row, int labels, RandomStream& random,
               std::uint8_t* bits) {
  const bool joint = policy.mixing == Mixing::joint;
  const bool fair = policy.kind == PolicyKind::uniform || (joint && random.uniform() < policy.epsilon);
  const double epsilon = joint ? 0.0 : policy.epsilon;
  for (int k = 0; k < labels; ++k) {
    const double one = fair ? 0.5 : (1 - epsilon) * logistic(scores[cell(k, row)]) + epsilon / 2;
    bits[cell(k, row)] = random.uniform() < one ? 1 : 0;
  }
}

}  // namespace

void sample_actions(const Policy& policy, const RolloutKey& rollout_key, const Block& block, const double* scores,
                    bool float32, BlockBuffer& buffer, const double* normals) noexcept {
  for (int i = 0; i < block.rows; ++i) {
    if (normals != nullptr && block.action_kind == ActionKind::continuous) {
      draw_continuous(policy, scores, i, float32, normals[i], buffer.action());
      continue;
    }
    RandomStream random = row_stream(rollout_key, StreamPurpose::action, block.first_row + i);
    switch (block.action_kind) {
      case ActionKind::continuous:
        draw_continuous(policy, scores, i, float32, random.normal(), buffer.action());
        break;
      case ActionKind::categorical:
        draw_category(policy, scores, i, block.num_actions, random, buffer.category());
        break;
      case ActionKind::multilabel:
        draw_bits(policy, scores, i, block.num_actions, random, buffer.bits());
        break;
    }
  }
}

}  // namespace scrm
