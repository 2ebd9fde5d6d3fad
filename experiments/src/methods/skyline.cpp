#include "methods/fixed_policy_learner.hpp"

namespace scrm {
namespace {

std::unique_ptr<Learner> make_skyline(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicyLearner>(setup.problem.skyline());
}

}  // namespace

/// What supervised learning makes of the right answers.
MethodEntry skyline_method() {
  return {
      .name = "skyline",
      .description = "supervised learning with the right answers",
      .make = make_skyline,
      .inapplicable_reason = without_right_actions,
  };
}

}  // namespace scrm
