#include "methods/reinforcement_learner.hpp"

namespace scrm {
namespace {

std::unique_ptr<Learner> make_ppo(const LearnerSetup& setup) {
  return std::make_unique<ReinforcementLearner>(setup, make_ppo_update);
}

MethodResources ppo_resources(const ProblemShape& shape, const RunOptions& options, const HyperParameters&, int) {
  const double passes = options.reinforcement.ppo.epochs;
  return reinforcement_resources(shape, options, passes, passes);
}

}  // namespace

/// Proximal policy optimisation: many small gradient steps, none of which gains from going too far from what was
/// played.
MethodEntry ppo_method() {
  return reinforcement_method("ppo", "actor and critic: clipped gradient steps on each batch", make_ppo, ppo_resources);
}

}  // namespace scrm
