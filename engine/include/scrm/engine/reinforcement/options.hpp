/// Options of reinforcement learning on episodes of one step, with the values that its libraries agree on.
#pragma once

namespace scrm {

/// Behaviour cloning of the first logs: minimises −log π(a|x) − w H(π(·|x)), w the entropy weight, and the critic's
/// squared error beside it, by Adam.
struct PretrainingOptions {
  double entropy_weight = 0.1;
  int steps = 200;  ///< of Adam, a minibatch each: as many for a small first batch as for a large one
  double rate = 0.01;
};

/// Proximal policy optimisation with a clipped surrogate.
struct PpoOptions {
  double clip = 0.2;  ///< ratios outside [1 − clip, 1 + clip] gain nothing
  int epochs = 10;
  double rate = 3e-4;  ///< of Adam, for actor and critic together
  double value_weight = 0.5;
  double gradient_norm = 0.5;  ///< longer gradients of actor and critic together are cut to it
};

/// Trust-region policy optimisation.
struct TrpoOptions {
  double kl = 0.01;  ///< largest mean KL(old ‖ new) of a step
  int conjugate_steps = 15;
  double damping = 0.1;  ///< added to the Fisher matrix's diagonal
  double shrink = 0.8;   ///< of the step, each time it is refused
  int backtracks = 10;
  int critic_epochs = 10;
  double critic_rate = 1e-3;
};

/// What both have in common.
struct ReinforcementOptions {
  PretrainingOptions pretraining;
  PpoOptions ppo;
  TrpoOptions trpo;
  int minibatch = 64;                ///< rows of a gradient step
  bool normalize_advantages = true;  ///< to mean 0 and spread 1: over a minibatch in PPO, over the batch in TRPO
};

}  // namespace scrm
