#include <cmath>
#include <memory>
#include <vector>

#include "scrm/experiments/environment.hpp"

namespace scrm {

namespace {

constexpr int kFeatures = 5;
constexpr int kDefaultActions = 5;
/// How far the first policy's parameters are from uniform, and how sharply the context tells the right action.
constexpr double kFirstSpread = 0.5;
constexpr double kTruthSpread = 1.5;

/// Contexts N(0, 1)^5; the right action is drawn from a softmax whose parameters come from the seed; loss 0 for it and
/// 1 for any other. First logs: a softmax policy with parameters of its own from the seed.
class CategoricalEnvironment final : public Environment {
 public:
  explicit CategoricalEnvironment(const EnvironmentOptions& options)
      : actions_(options.num_actions > 0 ? options.num_actions : kDefaultActions) {
    for (int k = 0; k < actions_; ++k) {
      RandomStream random = row_stream({options.seed, 0}, Purpose::parameters, k);
      for (int j = 0; j <= kFeatures; ++j) {
        first_.push_back(kFirstSpread * random.normal());
        truth_.push_back(kTruthSpread * random.normal());
      }
    }
  }

  ActionKind action_kind() const noexcept override { return ActionKind::categorical; }
  int num_actions() const noexcept override { return actions_; }
  std::int64_t features() const noexcept override { return kFeatures; }
  int state_columns() const noexcept override { return 1; }

  Policy first_policy() const override {
    Policy policy;
    policy.kind = PolicyKind::softmax;
    policy.outputs = actions_;
    policy.theta = first_;
    return policy;
  }

  void draw(const EnvironmentRows& rows) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) {
      RandomStream random = row_stream(rows.deployment, Purpose::context, rows.first_row + i);
      for (int j = 0; j < kFeatures; ++j) rows.context[j * kBlockRows + i] = random.normal();
      rows.state[i] = right_action(rows, i);
    }
  }

  void losses(const EnvironmentRows& rows, const Block& actions, double* out) const noexcept override {
    for (int i = 0; i < rows.rows; ++i) out[i] = actions.category[i] == static_cast<int>(rows.state[i]) ? 0.0 : 1.0;
  }

 private:
  /// A draw from the softmax of the true scores: the largest score after Gumbel noise is added to each.
  int right_action(const EnvironmentRows& rows, int i) const noexcept {
    RandomStream random = row_stream(rows.deployment, Purpose::loss, rows.first_row + i);
    int best = 0;
    double best_score = 0;
    for (int k = 0; k < actions_; ++k) {
      const double* theta = truth_.data() + k * (1 + kFeatures);
      double score = theta[0] - std::log(-std::log(random.uniform()));
      for (int j = 0; j < kFeatures; ++j) score += theta[1 + j] * rows.context[j * kBlockRows + i];
      if (k == 0 || score > best_score) {
        best = k;
        best_score = score;
      }
    }
    return best;
  }

  int actions_;
  std::vector<double> first_;
  std::vector<double> truth_;
};

}  // namespace

std::unique_ptr<Environment> make_categorical_environment(const EnvironmentOptions& options) {
  return std::make_unique<CategoricalEnvironment>(options);
}

}  // namespace scrm
