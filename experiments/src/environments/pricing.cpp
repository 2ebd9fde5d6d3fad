#include <algorithm>
#include <memory>

#include "environments/sd_penalty.hpp"
#include "scrm/experiments/environment.hpp"

namespace scrm {

namespace {

constexpr int kFeatures = 10;
/// Only the mean of the first three features matters, the rest distract.
constexpr int kRelevant = 3;
/// How fast demand falls with the price.
constexpr double kSlope = 0.6;
constexpr double kPricingScale = 0.5;
constexpr double kStartSpread = 0.01;

/// Contexts uniform on [1, 2]^10, x̄ the mean of the first three, reward a (2x̄² − 0.6 x̄ a) + N(0, 1), loss
/// min(−reward, 0). First logs a ~ N(x̄, 1).
class PricingEnvironment final : public Environment {
 public:
  std::int64_t features() const noexcept override { return kFeatures; }
  int state_columns() const noexcept override { return 1; }

  Policy first_policy() const override {
    Policy policy;
    policy.scale = 1.0;
    policy.theta.assign(1 + kFeatures, 0.0);
    std::fill_n(policy.theta.begin() + 1, kRelevant, 1.0 / kRelevant);
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      RandomStream random = row_stream(rows.rollout_key, StreamPurpose::context, rows.first_row + i);
      for (int j = 0; j < kFeatures; ++j) rows.context[j * kBlockRows + i] = 1.0 + random.uniform();
      rows.state[i] = row_stream(rows.rollout_key, StreamPurpose::loss, rows.first_row + i).normal();
    }
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      double mean = 0;
      for (int j = 0; j < kRelevant; ++j) mean += rows.context[j * kBlockRows + i] / kRelevant;
      const double action = actions.action[i];
      const double reward = action * (2.0 * mean * mean - kSlope * mean * action) + rows.state[i];
      out[i] = std::min(-reward, 0.0);
    }
  }

  bool has_optimal_actions() const noexcept override { return true; }
  void optimal_actions(const EnvironmentRows& rows, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      double mean = 0;
      for (int j = 0; j < kRelevant; ++j) mean += rows.context[j * kBlockRows + i] / kRelevant;
      out[i] = mean / kSlope;
    }
  }

  Policy start_policy(std::uint64_t seed) const override {
    RandomStream random = row_stream({seed, 0}, StreamPurpose::parameters, 0);
    Policy policy;
    policy.scale = kPricingScale;
    policy.theta = {1.0};
    for (int j = 0; j < kFeatures; ++j) policy.theta.push_back(kStartSpread * random.normal());
    return policy;
  }

  RunOptions defaults() const override { return sd_penalty_options(); }

  /// Revenue is a parabola in the price with its top at x̄/0.6, which is linear in the context.
  std::optional<Policy> best_policy() const override {
    Policy policy;
    policy.scale = kPricingScale;
    policy.theta.assign(1 + kFeatures, 0.0);
    std::fill_n(policy.theta.begin() + 1, kRelevant, 1.0 / (kRelevant * kSlope));
    return policy;
  }
};

}  // namespace

EnvironmentEntry pricing_environment() {
  return {.name = "pricing",
          .description = "a price for a product with 10 features; revenue with noise",
          .make = make_environment<PricingEnvironment>};
}

}  // namespace scrm
