#include "methods/reinforcement_learner.hpp"

namespace scrm {
namespace {

std::unique_ptr<Learner> make_trpo(const LearnerSetup& setup) {
  return std::make_unique<ReinforcementLearner>(setup, make_trpo_update);
}

MethodResources trpo_resources(const ProblemShape& shape, const RunOptions& options, const HyperParameters&, int) {
  const TrpoOptions& trpo = options.reinforcement.trpo;
  // Fisher products visit every context once, however many rows share it.
  const double actor_passes = static_cast<double>(trpo.conjugate_steps) / shape.schema.replays;
  return reinforcement_resources(shape, options, actor_passes, trpo.critic_epochs);
}

}  // namespace

/// Trust-region policy optimisation: one step of a bounded KL divergence.
MethodEntry trpo_method() {
  return reinforcement_method("trpo", "actor and critic: one step of bounded KL a batch", make_trpo, trpo_resources);
}

}  // namespace scrm
