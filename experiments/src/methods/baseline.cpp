#include "methods/fixed_policy_learner.hpp"

namespace scrm {

/// The policy that everybody starts from.
std::unique_ptr<Learner> make_baseline(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicyLearner>(setup.problem.baseline_policy());
}

}  // namespace scrm
