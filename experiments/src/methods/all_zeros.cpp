#include "methods/fixed_policy_learner.hpp"

namespace scrm {

/// No bit is ever set: what a method must beat where few labels are true.
std::unique_ptr<Learner> make_all_zeros(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicyLearner>(setup.problem.constant_policy(false).value());
}

}  // namespace scrm
