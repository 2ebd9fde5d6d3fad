/// ReinforcementLearner: an actor and a critic that clone the first logs, and then learn from what the actor plays.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "scrm/engine/reinforcement/policy_update.hpp"
#include "scrm/experiments/method.hpp"

namespace scrm {

/// Makes PPO or TRPO.
using MakePolicyUpdate = std::unique_ptr<PolicyUpdate> (*)(const ReinforcementOptions&);

/// Every row is an episode of one step with the reward −loss. The first batch, which others played, pretrains the actor
/// from the problem's start policy on, with the run's λ as entropy weight; every later batch was played by the actor,
/// and updates it once. Features, continuous actions and rewards are learned from in units that the first batch has
/// given mean 0 and spread 1.
class ReinforcementLearner final : public Learner {
 public:
  ReinforcementLearner(const LearnerSetup& setup, MakePolicyUpdate make_update);

  void learn(Source& rows, int batch) override;
  const Policy& policy(std::size_t) const override { return policy_; }
  LoggingPolicy next_logging_policy() const override { return {policy_, true}; }
  /// Throws Error (run) where it is not a number.
  double test_loss(const BanditProblem& problem, std::size_t run) const override;
  /// Entropy, value loss and, of continuous actions, σ; after updates also KL(old ‖ new) and surrogate.
  std::map<std::string, double> metrics(std::size_t) const override { return metrics_; }
  double rows_read() const override { return rows_read_; }

 private:
  void record(const UpdateReport& report);

  ReinforcementOptions options_;
  std::uint64_t seed_;
  StopToken stop_;
  int rollouts_;
  std::unique_ptr<PolicyUpdate> update_;
  Policy policy_;
  std::optional<ActorCritic> agent_;  // since the first batch that had rows
  std::map<std::string, double> metrics_;
  double rows_read_ = 0;
};

/// What a run needs for its episodes and its models, given how often all rows pass through the actor and the critic.
MethodResources reinforcement_resources(const ProblemShape& shape, const RunOptions& options, double actor_passes,
                                        double critic_passes);

/// The entry of a method that is one: entropy weights of pretraining stand where others have λ.
MethodEntry reinforcement_method(const char* name, const char* description, decltype(MethodEntry::make) make,
                                 decltype(MethodEntry::resources) resources);

}  // namespace scrm
