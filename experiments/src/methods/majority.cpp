#include "methods/fixed_policy_learner.hpp"

namespace scrm {

/// Each label as most training rows have it, or the class that most have, whatever the context.
std::unique_ptr<Learner> make_majority(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicyLearner>(setup.problem.constant_policy(true).value());
}

}  // namespace scrm
