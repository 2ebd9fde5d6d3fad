/// RandomScores: what the categorical and multilabel environments share, linear scores with parameters from the seed.
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
      RandomStream random = row_stream({seed, 0}, Purpose::parameters, k);
      for (int j = 0; j <= kFeatures; ++j) {
        first_.push_back(kFirstSpread * random.normal());
        truth_.push_back(kTruthSpread * random.normal());
      }
    }
  }

  /// theta of the policy that logs first.
  const std::vector<double>& first() const noexcept { return first_; }

  static void draw_context(const EnvironmentRows& rows, int row) noexcept {
    RandomStream random = row_stream(rows.deployment, Purpose::context, rows.first_row + row);
    for (int j = 0; j < kFeatures; ++j) rows.context[j * kBlockRows + row] = random.normal();
  }

  double truth(const EnvironmentRows& rows, int row, int output) const noexcept {
    const double* theta = truth_.data() + output * (1 + kFeatures);
    double score = theta[0];
    for (int j = 0; j < kFeatures; ++j) score += theta[1 + j] * rows.context[j * kBlockRows + row];
    return score;
  }

 private:
  /// How far the first policy is from uniform, and how sharply the context tells what is right.
  static constexpr double kFirstSpread = 0.5;
  static constexpr double kTruthSpread = 1.5;

  std::vector<double> first_;
  std::vector<double> truth_;
};

}  // namespace scrm
