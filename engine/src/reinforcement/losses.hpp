/// What is minimised over a minibatch, with gradients by all parameters of actor and critic.
#pragma once

#include <Eigen/Core>
#include <span>

#include "reinforcement/actions/action_distribution.hpp"
#include "reinforcement/actions/linear_scores.hpp"
#include "scrm/engine/reinforcement/actor_critic.hpp"
#include "scrm/engine/reinforcement/options.hpp"

namespace scrm {

/// Rows that a gradient step sees.
struct Minibatch {
  ContextRows contexts;
  const double* actions = nullptr;  ///< a column for each number of an action
  const double* rewards = nullptr;
  const double* old_log_probability = nullptr;  ///< where a surrogate is asked for
  const double* advantages = nullptr;
};

/// Σ_i min(ρ A, min(max(ρ, 1 − clip), 1 + clip) A) with ρ = π/π_old of each row, and its derivatives by log π into
/// `weights`. Logarithms of ρ count up to 50.
double clipped_surrogate(std::span<const double> log_probability, const double* old_log_probability,
                         const double* advantages, double clip, double* weights);

/// To mean 0 and spread 1; a single one stays as it is, and equal ones become 0.
void normalize(std::span<double> advantages);

/// Losses of an actor and critic whose parameters may change between calls. Gradients are overwritten.
class ActorCriticLoss {
 public:
  explicit ActorCriticLoss(const ActorCritic& agent) : agent_(agent) {}

  /// Mean of −log π(a|x) − entropy_weight H(π(·|x)) + (reward − value)².
  double cloning(const Minibatch& rows, double entropy_weight, std::span<double> gradient);
  /// Mean of −clipped surrogate + value_weight (reward − value)².
  double proximal(const Minibatch& rows, const PpoOptions& options, std::span<double> gradient);
  /// Mean of (reward − value)², by the critic's parameters alone.
  double value(const Minibatch& rows, std::span<double> gradient);

 private:
  ScoreColumns score(const Minibatch& rows);
  /// Turns what was gathered by scores into a gradient by the actor's parameters.
  void finish(const Minibatch& rows, const ScoreGradient& by_scores, std::span<double> gradient);
  double add_value(const Minibatch& rows, double weight, std::span<double> critic_gradient);

  const ActorCritic& agent_;
  Eigen::MatrixXd scores_, score_gradient_, values_;
  Eigen::VectorXd log_probability_, weights_;
};

}  // namespace scrm
