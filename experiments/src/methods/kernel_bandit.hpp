/// KernelBandit: plays, batch after batch, the action that kernel ridge regression on all rows so far thinks best.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "methods/action_rule.hpp"
#include "scrm/experiments/method.hpp"

namespace scrm {

/// What makes a method of a kernel bandit.
struct BanditTraits {
  KernelKind kernel = KernelKind::linear;  ///< unless the options name one, or bits have their own
  bool optimistic = false;                 ///< adds β widths to means, β = 1/√n or as the options say; else β = 0
};

/// As one integer, so many labels at most: beyond, the powers of integers leave nothing of the context.
inline constexpr int kMaxIntegerLabels = 30;
/// Where every integer is tried one by one, which kernels without a polynomial need.
inline constexpr int kMaxEnumeratedLabels = 10;

/// How rows of this schema become states under the options.
StateSpace state_space(const BanditTraits& traits, const Schema& schema, const RunOptions& options);

/// The ridge behind a run that logs so many rows in all.
KernelRidgeOptions ridge_options(const StateSpace& space, const Schema& schema, const RunOptions& options,
                                 double lambda, std::int64_t rows);

/// What a run needs for its ridge and for choosing actions.
MethodResources bandit_resources(const BanditTraits& traits, const ProblemShape& shape, const RunOptions& options,
                                 const HyperParameters& parameters, int threads);

/// q(x, a) = mean + β width over states (x, a) with the rewards −loss, and the action of the largest q. The first batch
/// is the logged one; each later one enters the ridge as it comes.
class KernelBandit final : public Learner {
 public:
  /// Throws Error (usage) for actions, kernels and encodings that do not go together, with a hint.
  KernelBandit(const LearnerSetup& setup, const BanditTraits& traits);

  void learn(Source& rows, int batch) override;
  /// There is no θ behind a rule.
  const Policy& policy(std::size_t) const override { return empty_policy_; }
  LoggingPolicy next_logging_policy() const override { return {empty_policy_, true, rule_}; }
  double test_loss(const BanditProblem&, std::size_t) const override { return test_loss_.loss; }
  /// The test loss without ε, the ridge's dimension, and the share of the kernel that inducing points leave out. At the
  /// last rollout, where asked for: the share of test contexts for which twice the points choose another action.
  std::map<std::string, double> metrics(std::size_t) const override;
  double rows_read() const override { return rows_read_; }

 private:
  struct Batch {
    std::vector<double> states, rewards;
  };

  double beta(int batch) const;
  /// Whether the effect of inducing points on actions is wanted and there is one.
  bool compares_points() const;
  double share_changed_by_twice_the_points(double beta) const;

  const BanditProblem& problem_;
  BanditOptions options_;
  int rollouts_;
  KernelRidgeOptions ridge_options_;
  BanditTraits traits_;
  Policy empty_policy_;
  StateSpace space_;
  std::shared_ptr<KernelRidge> ridge_;
  std::shared_ptr<const ActionRule> rule_;
  RuleLoss test_loss_;
  std::vector<Batch> batches_;  // for the comparison alone
  std::optional<double> changed_share_;
  double rows_read_ = 0;
};

/// Why a kernel bandit cannot play in the environment; empty where it can.
std::string without_numbers_or_bits(const ProblemFactory& environment, const RunOptions&);

// Entries of the bandit that these traits make.
template <const BanditTraits& traits>
std::unique_ptr<Learner> make_bandit(const LearnerSetup& setup) {
  return std::make_unique<KernelBandit>(setup, traits);
}

template <const BanditTraits& traits>
MethodResources bandit_resources(const ProblemShape& shape, const RunOptions& options,
                                 const HyperParameters& parameters, int threads) {
  return bandit_resources(traits, shape, options, parameters, threads);
}

}  // namespace scrm
