#include "methods/fixed_policy_learner.hpp"

namespace scrm {
namespace {

std::unique_ptr<Learner> make_baseline(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicyLearner>(setup.problem.baseline_policy());
}

}  // namespace

/// The policy that everybody starts from.
MethodEntry baseline_method() {
  return {
      .name = "baseline",
      .description = "the policy that learning starts from",
      .make = make_baseline,
  };
}

}  // namespace scrm
