/// RandomScores: what the categorical and multilabel environments share, linear scores with parameters from the seed
/// and how to learn from them.
#pragma once

#include <cstdint>
#include <vector>

#include "scrm/experiments/environment.hpp"

namespace scrm {

/// Contexts N(0, 1)^5, and two linear scores for every action or label: those of the first policy and those of the
/// truth.
class RandomScores {
 public:
  static constexpr int kFeatures = 5;

  RandomScores(std::uint64_t seed, int outputs) {
    for (int k = 0; k < outputs; ++k) {
      RandomStream random = row_stream({seed, 0}, StreamPurpose::parameters, k);
      for (int j = 0; j <= kFeatures; ++j) {
        first_theta_.push_back(kFirstSpread * random.normal());
        true_theta_.push_back(kTrueSpread * random.normal());
      }
    }
  }

  /// theta of the policy that logs first.
  const std::vector<double>& first_theta() const noexcept { return first_theta_; }

  static void draw_context(const EnvironmentRows& rows, int row) noexcept {
    RandomStream random = row_stream(rows.rollout_key, StreamPurpose::context, rows.first_row + row);
    for (int j = 0; j < kFeatures; ++j) rows.context[j * kBlockRows + row] = random.normal();
  }

  double true_score(const EnvironmentRows& rows, int row, int output) const noexcept {
    const double* theta = true_theta_.data() + output * (1 + kFeatures);
    double score = theta[0];
    for (int j = 0; j < kFeatures; ++j) score += theta[1 + j] * rows.context[j * kBlockRows + row];
    return score;
  }

 private:
  /// How far the first policy is from uniform, and how sharply the context tells what is right.
  static constexpr double kFirstSpread = 0.5;
  static constexpr double kTrueSpread = 1.5;

  std::vector<double> first_theta_;
  std::vector<double> true_theta_;
};

/// Learning from all batches, under the balance heuristic, by searches that begin at θ₀. The paper's protocol for
/// continuous actions, the last batch alone and a search that begins at the last policy, fails over finitely many
/// actions: a policy fitted to the first hundred rows is all but certain of what it does, its logs hold little else,
/// and a search that begins there finds no slope to leave by.
inline RunOptions discrete_defaults() {
  RunOptions options;
  options.past = PastRollouts::balance;
  options.warm_start = false;
  return options;
}

}  // namespace scrm
