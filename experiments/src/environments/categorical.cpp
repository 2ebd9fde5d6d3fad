#include <algorithm>
#include <cmath>
#include <memory>

#include "environments/random_scores.hpp"
#include "scrm/experiments/environment.hpp"

namespace scrm {

namespace {

constexpr int kDefaultActions = 5;

/// Contexts N(0, 1)^5; the right action is drawn from a softmax whose parameters come from the seed; loss 0 for it and
/// 1 for any other. First logs: a softmax policy with parameters of its own from the seed.
class CategoricalEnvironment final : public Environment {
 public:
  explicit CategoricalEnvironment(const EnvironmentOptions& options)
      : actions_(options.num_actions > 0 ? options.num_actions : kDefaultActions), scores_(options.seed, actions_) {}

  ActionKind action_kind() const noexcept override { return ActionKind::categorical; }
  int num_actions() const noexcept override { return actions_; }
  std::int64_t features() const noexcept override { return RandomScores::kFeatures; }
  int state_columns() const noexcept override { return 1; }

  Policy first_policy() const override {
    Policy policy;
    policy.kind = PolicyKind::softmax;
    policy.outputs = actions_;
    policy.theta = scores_.first_theta();
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      RandomScores::draw_context(rows, i);
      rows.state[i] = correct_action(rows, i);
    }
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) out[i] = actions.category[i] == static_cast<int>(rows.state[i]) ? 0.0 : 1.0;
  }

  bool has_optimal_actions() const noexcept override { return true; }
  void optimal_actions(const EnvironmentRows& rows, double* out) const noexcept override {
    std::copy_n(rows.state, rows.rows, out);
  }

  RunOptions defaults() const override { return discrete_defaults(); }

 private:
  /// A draw from the softmax of the true scores: the largest score after Gumbel noise is added to each.
  int correct_action(const EnvironmentRows& rows, int i) const noexcept {
    RandomStream random = row_stream(rows.rollout_key, StreamPurpose::loss, rows.first_row + i);
    int best = 0;
    double best_score = 0;
    for (int k = 0; k < actions_; ++k) {
      const double score = scores_.true_score(rows, i, k) - std::log(-std::log(random.uniform()));
      if (k == 0 || score > best_score) {
        best = k;
        best_score = score;
      }
    }
    return best;
  }

  int actions_;
  RandomScores scores_;
};

}  // namespace

EnvironmentEntry categorical_environment() {
  return {.name = "categorical",
          .description = "one of K actions, one of them right (--actions K)",
          .make = make_environment<CategoricalEnvironment>};
}

}  // namespace scrm
