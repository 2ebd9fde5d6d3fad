/// PolicyUpdate: how an actor and its critic learn from a batch that the actor has played: PPO or TRPO.
#pragma once

#include <cstdint>
#include <memory>

#include "scrm/engine/reinforcement/actor_critic.hpp"
#include "scrm/engine/reinforcement/options.hpp"
#include "scrm/engine/schedule/stop_token.hpp"

namespace scrm {

/// What the random order of rows is keyed by, and what may end an update between two epochs.
struct UpdateKey {
  std::uint64_t seed = 0;
  int rollout = 0;
  StopToken stop = {};
};

/// Means over the batch, of the actor and critic after the update. Advantages, values and actions are standardized.
struct UpdateReport {
  double surrogate = 0;   ///< what the update raised: of PPO the clipped one, of TRPO that of the step, 0 before it
  double kl = 0;          ///< KL(old ‖ new)
  double entropy = 0;     ///< of the new policy
  double value_loss = 0;  ///< (reward − value)²
  double steps = 0;       ///< gradient steps of PPO's actor; 1 or 0 for TRPO's step, taken or not
};

class PolicyUpdate {
 public:
  virtual ~PolicyUpdate() = default;
  /// Improves on the policy that `episodes`, in the agent's units, were played by: the agent's as it comes in.
  virtual UpdateReport update(const Episodes& episodes, const UpdateKey& key, ActorCritic& agent) = 0;
};

/// Both keep the state of their optimisers from batch to batch.
std::unique_ptr<PolicyUpdate> make_ppo_update(const ReinforcementOptions& options);
std::unique_ptr<PolicyUpdate> make_trpo_update(const ReinforcementOptions& options);

/// Behaviour cloning of what was played by somebody else, see PretrainingOptions.
UpdateReport pretrain(const Episodes& episodes, const ReinforcementOptions& options, const UpdateKey& key,
                      ActorCritic& agent);

}  // namespace scrm
