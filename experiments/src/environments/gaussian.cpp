#include <algorithm>
#include <memory>

#include "scrm/experiments/environment.hpp"

namespace scrm {

namespace {

constexpr double kBestAction = 1.0;
constexpr double kSpread = 0.3;
constexpr double kStartMean = 2.5;
// θ is searched for in [−3, 3].
constexpr double kBound = 3.0;

/// Example 3.1 of the paper: loss 0.2 (a − y)² − 1 with y ~ N(1, 0.3²) of the row, first logs a ~ N(2.5, 0.3²).
class GaussianEnvironment final : public Environment {
 public:
  explicit GaussianEnvironment(const EnvironmentOptions& options) : shared_target_(options.published) {}

  std::int64_t features() const noexcept override { return 0; }
  int state_columns() const noexcept override { return 1; }

  Policy first_policy() const override {
    Policy policy;
    policy.scale = kSpread;
    policy.theta = {kStartMean};
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    if (shared_target_) return share_targets(rows);
    for (int i = 0; i < rows.rows; ++i) rows.state[i] = target(rows.rollout_key, rows.first_row + i);
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      const double miss = actions.action[i] - rows.state[i];
      out[i] = 0.2 * miss * miss - 1.0;
    }
  }

  bool has_optimal_actions() const noexcept override { return true; }
  void optimal_actions(const EnvironmentRows& rows, double* out) const noexcept override {
    std::copy_n(rows.state, rows.rows, out);
  }

  RunOptions defaults() const override {
    RunOptions options;
    options.estimator = &kIpsEstimator;
    options.lambdas = {{LambdaKind::log_rows, 0}};
    options.bound = {-kBound, kBound};
    return options;
  }

  std::optional<double> expected_loss(const Policy& policy) const override {
    const double miss = policy.theta.front() - kBestAction;
    return -1.0 + 0.2 * (miss * miss + policy.scale * policy.scale + kSpread * kSpread);
  }

  std::optional<Policy> best_policy() const override {
    Policy policy = first_policy();
    policy.theta = {kBestAction};
    return policy;
  }

 private:
  static double target(const RolloutKey& rollout_key, std::int64_t key) noexcept {
    return kBestAction + kSpread * row_stream(rollout_key, StreamPurpose::loss, key).normal();
  }

  /// One y for all rows of a batch.
  void share_targets(const EnvironmentRows& rows) const noexcept {
    const std::int64_t last = rows.first_row + rows.rows;
    for (std::int64_t row = rows.first_row; row < last;) {
      const int batch = shared_target_->batch_of(row);
      const std::int64_t end = std::min(last, shared_target_->begin(batch + 1));
      std::fill(rows.state + (row - rows.first_row), rows.state + (end - rows.first_row),
                target(rows.rollout_key, batch));
      row = end;
    }
  }

  std::optional<BatchPlan> shared_target_;
};

}  // namespace

EnvironmentEntry gaussian_environment() {
  return {.name = "gaussian",
          .description = "no context, one number to hit, quadratic loss",
          .make = make_environment<GaussianEnvironment>};
}

}  // namespace scrm
