/// CachedEnvironment: an environment that remembers its first rows, for runs that meet them again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "scrm/experiments/environment.hpp"

namespace scrm {

/// The same draws as the inner environment. Rows [0, rows) of rollout 0 under `seed` are drawn once, by whoever asks
/// first, and copied from then on; all others are drawn anew.
class CachedEnvironment final : public Environment {
 public:
  CachedEnvironment(std::shared_ptr<const Environment> environment, std::uint64_t seed, std::int64_t rows);

  ActionKind action_kind() const noexcept override { return inner_->action_kind(); }
  int num_actions() const noexcept override { return inner_->num_actions(); }
  std::int64_t features() const noexcept override { return inner_->features(); }
  int state_columns() const noexcept override { return inner_->state_columns(); }
  Policy first_policy() const override { return inner_->first_policy(); }
  Policy start_policy(std::uint64_t seed) const override { return inner_->start_policy(seed); }
  RunOptions defaults() const override { return inner_->defaults(); }
  std::optional<double> expected_loss(const Policy& policy) const override { return inner_->expected_loss(policy); }
  std::optional<Policy> best_policy() const override { return inner_->best_policy(); }
  void draw(const EnvironmentRows& rows) const noexcept override;
  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    inner_->losses(rows, actions, out);
  }
  void action_normals(const EnvironmentRows& rows, double* out) const noexcept override;
  void test_normals(const EnvironmentRows& rows, int draws, double* out) const noexcept override {
    inner_->test_normals(rows, draws, out);
  }
  void optimal_actions(const EnvironmentRows& rows, double* out) const noexcept override {
    inner_->optimal_actions(rows, out);
  }

 private:
  /// kBlockRows rows: context columns, then state columns, then the normal draws of continuous actions.
  struct Chunk {
    std::once_flag drawn;
    std::vector<double> columns;
  };

  bool is_cached(const EnvironmentRows& rows) const noexcept;
  const double* chunk(std::int64_t index) const;

  std::shared_ptr<const Environment> inner_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace scrm
