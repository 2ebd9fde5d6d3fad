#include <algorithm>
#include <cmath>
#include <memory>

#include "environments/random_scores.hpp"
#include "scrm/experiments/environment.hpp"

namespace scrm {

namespace {

constexpr int kDefaultLabels = 4;

/// Contexts N(0, 1)^5; each right bit is drawn from a logistic model whose parameters come from the seed; loss = wrong
/// bits / K. First logs: a multilabel policy with parameters of its own from the seed.
class MultilabelEnvironment final : public Environment {
 public:
  explicit MultilabelEnvironment(const EnvironmentOptions& options)
      : labels_(options.num_actions > 0 ? options.num_actions : kDefaultLabels), scores_(options.seed, labels_) {}

  ActionKind action_kind() const noexcept override { return ActionKind::multilabel; }
  int num_actions() const noexcept override { return labels_; }
  std::int64_t features() const noexcept override { return RandomScores::kFeatures; }
  int state_columns() const noexcept override { return labels_; }

  Policy first_policy() const override {
    Policy policy;
    policy.kind = PolicyKind::multilabel;
    policy.mixing = Mixing::label;
    policy.outputs = labels_;
    policy.theta = scores_.first_theta();
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      RandomScores::draw_context(rows, i);
      RandomStream hidden = row_stream(rows.rollout_key, StreamPurpose::loss, rows.first_row + i);
      for (int k = 0; k < labels_; ++k) {
        const double score = scores_.true_score(rows, i, k);
        rows.state[k * kBlockRows + i] = hidden.uniform() < 1.0 / (1.0 + std::exp(-score)) ? 1.0 : 0.0;
      }
    }
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      int wrong = 0;
      for (int k = 0; k < labels_; ++k) {
        const auto at = static_cast<std::size_t>(k) * kBlockRows + static_cast<std::size_t>(i);
        wrong += (actions.bits[at] != 0) != (rows.state[at] != 0);
      }
      out[i] = static_cast<double>(wrong) / labels_;
    }
  }

  bool has_optimal_actions() const noexcept override { return true; }
  void optimal_actions(const EnvironmentRows& rows, double* out) const noexcept override {
    for (int k = 0; k < labels_; ++k) std::copy_n(rows.state + k * kBlockRows, rows.rows, out + k * kBlockRows);
  }

  RunOptions defaults() const override { return discrete_defaults(); }

 private:
  int labels_;
  RandomScores scores_;
};

}  // namespace

EnvironmentEntry multilabel_environment() {
  return {.name = "multilabel",
          .description = "K bits, loss the share of wrong ones (--actions K)",
          .make = make_environment<MultilabelEnvironment>};
}

}  // namespace scrm
