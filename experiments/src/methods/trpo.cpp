#include "methods/reinforcement_learner.hpp"

namespace scrm {

/// Trust-region policy optimisation: one step of a bounded KL divergence.
std::unique_ptr<Learner> make_trpo(const LearnerSetup& setup) {
  return std::make_unique<ReinforcementLearner>(setup, make_trpo_update);
}

MethodResources trpo_resources(const ProblemShape& shape, const RunOptions& options, const HyperParameters&, int) {
  return reinforcement_resources(shape, options,
                                 options.reinforcement.trpo.critic_epochs + options.reinforcement.trpo.conjugate_steps);
}

}  // namespace scrm
