/// ActorCritic: a linear actor and a linear critic on contexts of unit size, and the policy that the actor is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scrm/engine/reinforcement/episodes.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

class ActionDistribution;

/// Scores are linear in the context. What they are of an action depends on its kind: the mean of a Gaussian whose log σ
/// is a parameter too; the log-odds of independent bits; or the softmax of categories. ε is part of the actor:
/// bits are set with probability (1 − ε) logistic(score) + ε/2, and categories are mixed likewise, as they are played.
class ActorCritic {
 public:
  /// The actor is this policy, and the critic 0. Throws Error (usage) for kinds of policy, feature maps and mixtures
  /// that have no closed form here.
  ActorCritic(const Policy& start, EpisodeUnits units);

  const ActionDistribution& distribution() const noexcept { return *distribution_; }
  const EpisodeUnits& units() const noexcept { return units_; }
  std::int64_t width() const noexcept { return width_; }

  /// The actor's weights, an output after the other, `width` numbers each; log σ where there is one; the critic's
  /// weights.
  std::span<double> parameters() noexcept { return parameters_; }
  std::span<const double> parameters() const noexcept { return parameters_; }
  /// How many of the parameters are the actor's.
  std::int64_t actor_size() const noexcept { return std::ssize(parameters_) - width_; }
  std::span<const double> actor() const noexcept { return parameters().first(static_cast<std::size_t>(actor_size())); }
  std::span<const double> critic() const noexcept { return parameters().last(static_cast<std::size_t>(width_)); }
  /// Of standardized actions; 0 where there is no σ.
  double log_scale() const noexcept;

  /// The actor in the units of the rows. Throws Error (run) where its parameters are no longer numbers.
  Policy policy() const;

 private:
  void set_actor(const Policy& policy);

  Policy like_;  // kind, ε and all else that is not learned
  EpisodeUnits units_;
  std::int64_t width_;
  std::shared_ptr<const ActionDistribution> distribution_;
  std::vector<double> parameters_;
};

}  // namespace scrm
