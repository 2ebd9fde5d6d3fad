/// PlayedBatch: a whole batch and the policy that played it, for comparing later policies with that one.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "reinforcement/actions/action_distribution.hpp"
#include "reinforcement/actions/linear_scores.hpp"
#include "scrm/engine/reinforcement/policy_update.hpp"

namespace scrm {

/// Means are over the batch's rows, of which there is one at least.
class PlayedBatch {
 public:
  /// Played by the actor, judged by the critic, as they are now. The episodes must outlive this.
  PlayedBatch(const Episodes& episodes, const ActorCritic& agent, bool normalize_advantages);

  const std::vector<double>& old_log_probability() const noexcept { return old_log_probability_; }
  /// Reward − value of each row, 0 where all rewards are equal; and the same normalized where that was asked for.
  const std::vector<double>& advantages() const noexcept { return advantages_; }
  const std::vector<double>& normalized_advantages() const noexcept { return normalized_; }

  /// Mean of min(ρ A, clipped ρ A), with the normalized advantages.
  double surrogate(const ActorCritic& agent, double clip) const;
  /// The gradient of the mean of ρ A at the old policy, by the actor's parameters.
  std::vector<double> surrogate_gradient() const;
  /// Mean KL(old ‖ agent's).
  double divergence(const ActorCritic& agent) const;
  /// The Fisher matrix of the old policy, the Hessian of that mean KL, times a direction of the actor's parameters.
  void fisher_product(std::span<const double> direction, std::span<double> out) const;

  /// Everything but the steps.
  UpdateReport report(const ActorCritic& agent, double clip) const;

 private:
  ContextRows contexts() const noexcept {
    return {episodes_.contexts.data(), episodes_.context_rows(), episodes_.width};
  }
  Eigen::MatrixXd scores(std::span<const double> actor) const;
  ScoreColumns old_policy() const noexcept { return {scores_.data(), scores_.rows(), log_scale_}; }

  const Episodes& episodes_;
  const ActionDistribution& distribution_;
  Eigen::MatrixXd actions_;  // a column for each number
  Eigen::MatrixXd scores_;   // of the old policy, of every context
  double log_scale_;
  std::vector<double> old_log_probability_, advantages_, normalized_;
};

}  // namespace scrm
