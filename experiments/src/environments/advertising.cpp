#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "environments/sd_penalty.hpp"
#include "scrm/experiments/environment.hpp"

namespace scrm {

namespace {

constexpr double kMoonNoise = 0.05;
constexpr double kPotentialSpread = 0.5;
constexpr double kFirstGroupPotential = 3.0;
constexpr double kSecondGroupPotential = 1.0;
constexpr double kLowestReward = -0.1;
constexpr double kAdvertisingScale = 0.3;
/// First logs have mean 2 and variance 1, so that σ² = ln(1 + 1/2²).
constexpr double kFirstMean = 2.0;

/// Users in two interleaving half moons, each moon a group with its own potential |N(μ, 0.5²)|. A bid earns a/potential
/// below the potential and 1 − (a − potential)/2 above it, at least −0.1; loss = −reward.
class AdvertisingEnvironment final : public Environment {
 public:
  explicit AdvertisingEnvironment(const EnvironmentOptions& options) : published_(options.published.has_value()) {}

  std::int64_t features() const noexcept override { return 2; }
  int state_columns() const noexcept override { return 1; }

  Policy first_policy() const override {
    const double variance = std::log1p(1.0 / (kFirstMean * kFirstMean));
    Policy policy;
    policy.kind = PolicyKind::lognormal;
    policy.scale = std::sqrt(variance);
    policy.theta = {std::log(kFirstMean) - variance / 2, 0.0, 0.0};
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    double* x = rows.context;
    double* y = rows.context + kBlockRows;
    for (int i = 0; i < rows.rows; ++i) {
      RandomStream random = row_stream(rows.rollout_key, StreamPurpose::context, rows.first_row + i);
      const bool first_group = in_first_group(random);
      const double angle = std::numbers::pi * random.uniform();
      x[i] = (first_group ? std::cos(angle) : 1.0 - std::cos(angle)) + kMoonNoise * random.normal();
      y[i] = (first_group ? std::sin(angle) : 0.5 - std::sin(angle)) + kMoonNoise * random.normal();
      const double potential = first_group ? kFirstGroupPotential : kSecondGroupPotential;
      RandomStream hidden = row_stream(rows.rollout_key, StreamPurpose::loss, rows.first_row + i);
      rows.state[i] = std::abs(potential + kPotentialSpread * hidden.normal());
    }
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      const double action = actions.action[i];
      const double potential = rows.state[i];
      // Up to the potential the first is the smaller, beyond it the second: a loop without a branch.
      const double below = action / potential, above = 1.0 + (potential - action) / 2;
      const double reward = std::min(below, above);
      out[i] = -std::max(reward, kLowestReward);
    }
  }

  /// The released code seeds the test's draws like those of the test rows. So its first draw repeats the numbers behind
  /// the first group's potentials, and its second draw those behind the second group's: in one draw of ten a bid knows
  /// what it cannot know, which is worth 0.009.
  void test_normals(const EnvironmentRows& rows, int draws, double* out) const noexcept override {
    Environment::test_normals(rows, draws, out);
    if (!published_) return;
    for (int i = 0; i < rows.rows; ++i) {
      RandomStream random = row_stream(rows.rollout_key, StreamPurpose::context, rows.first_row + i);
      const int draw = in_first_group(random) ? 0 : 1;
      if (draw >= draws) continue;
      out[static_cast<std::int64_t>(draw) * kBlockRows + i] =
          row_stream(rows.rollout_key, StreamPurpose::loss, rows.first_row + i).normal();
    }
  }

  bool has_optimal_actions() const noexcept override { return true; }
  void optimal_actions(const EnvironmentRows& rows, double* out) const noexcept override {
    std::copy_n(rows.state, rows.rows, out);
  }

  Policy start_policy(std::uint64_t seed) const override {
    RandomStream random = row_stream({seed, 0}, StreamPurpose::parameters, 0);
    Policy policy;
    policy.scale = kAdvertisingScale;
    policy.theta = {1.0, random.normal(), random.normal()};
    return policy;
  }

  RunOptions defaults() const override { return sd_penalty_options(); }

 private:
  /// The first number that a row's context draws.
  static bool in_first_group(RandomStream& random) noexcept { return random.uniform() < 0.5; }

  bool published_;
};

}  // namespace

EnvironmentEntry advertising_environment() {
  return {.name = "advertising",
          .description = "a bid for a user in one of two half moons",
          .make = make_environment<AdvertisingEnvironment>};
}

}  // namespace scrm
