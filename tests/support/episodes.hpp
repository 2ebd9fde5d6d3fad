/// Episodes of one step for tests: contexts of unit size, actions of a policy, rewards that depend on both.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "scrm/engine/reinforcement/actor_critic.hpp"
#include "support/rows/random_rows.hpp"

namespace scrm::testing {

/// A policy of that kind with parameters that are drawn.
inline Policy drawn_policy(PolicyKind kind, int outputs, std::int64_t features, double epsilon, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Policy policy;
  policy.kind = kind;
  policy.outputs = outputs;
  policy.epsilon = epsilon;
  policy.mixing = Mixing::label;
  policy.scale = 0.7;
  for (std::int64_t j = 0; j < outputs * (1 + features); ++j) policy.theta.push_back(0.5 * normal(random));
  return policy;
}

inline EpisodeUnits plain_units(std::int64_t features) {
  EpisodeUnits units;
  units.features.resize(static_cast<std::size_t>(features));
  return units;
}

/// Rows whose actions the policy has drawn, without ε. The reward is least far from the best where actions follow the
/// first feature: numbers its value, bits its sign, categories its sign too.
inline Episodes played_episodes(const Policy& policy, std::int64_t rows, int replays, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  Episodes out;
  out.width = policy.row_length();
  out.replays = replays;
  const bool bits = policy.kind == PolicyKind::multilabel, categories = policy.kind == PolicyKind::softmax;
  out.action_kind = bits ? ActionKind::multilabel : categories ? ActionKind::categorical : ActionKind::continuous;
  out.action_width = bits ? policy.outputs : 1;
  std::vector<double> scores;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (i % replays == 0) {
      out.contexts.push_back(1);
      for (std::int64_t j = 1; j < out.width; ++j) out.contexts.push_back(normal(random));
    }
    const double* context = out.contexts.data() + i / replays * out.width;
    const double guide = out.width > 1 ? context[1] : 1;
    scores.assign(static_cast<std::size_t>(policy.outputs), 0.0);
    for (std::size_t k = 0; k < scores.size(); ++k) {
      for (std::int64_t j = 0; j < out.width; ++j) {
        scores[k] += policy.theta[k * static_cast<std::size_t>(out.width) + static_cast<std::size_t>(j)] * context[j];
      }
    }
    double reward = 0;
    if (bits) {
      for (const double score : scores) {
        const bool bit = uniform(random) < 1 / (1 + std::exp(-score));
        out.actions.push_back(bit ? 1 : 0);
        reward += bit == (guide > 0) ? 1.0 : 0.0;
      }
    } else if (categories) {
      double sum = 0;
      for (const double score : scores) sum += std::exp(score);
      double left = uniform(random) * sum;
      std::size_t k = 0;
      while (k + 1 < scores.size() && (left -= std::exp(scores[k])) > 0) ++k;
      out.actions.push_back(static_cast<double>(k));
      reward = (k == 0) == (guide > 0) ? 1 : 0;
    } else {
      out.actions.push_back(scores[0] + policy.scale * normal(random));
      reward = -(out.actions.back() - guide) * (out.actions.back() - guide);
    }
    out.rewards.push_back(reward);
  }
  return out;
}

}  // namespace scrm::testing
