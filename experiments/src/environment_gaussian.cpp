#include <memory>

#include "scrm/experiments/environment.hpp"

namespace scrm {

namespace {

constexpr double kBestAction = 1.0;
constexpr double kSpread = 0.3;
constexpr double kFirstMean = 2.5;

/// Example 3.1 of the paper: loss 0.2 (a − y)² − 1 with y ~ N(1, 0.3²) of the row, first logs a ~ N(2.5, 0.3²).
class GaussianEnvironment final : public Environment {
 public:
  std::int64_t features() const noexcept override { return 0; }
  int state_columns() const noexcept override { return 1; }

  Policy first_policy() const override {
    Policy policy;
    policy.scale = kSpread;
    policy.theta = {kFirstMean};
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      RandomStream random = row_stream(rows.deployment, Purpose::loss, rows.first_row + i);
      rows.state[i] = kBestAction + kSpread * random.normal();
    }
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      const double miss = actions.action[i] - rows.state[i];
      out[i] = 0.2 * miss * miss - 1.0;
    }
  }
};

}  // namespace

std::unique_ptr<Environment> make_gaussian_environment(const EnvironmentOptions&) {
  return std::make_unique<GaussianEnvironment>();
}

}  // namespace scrm
