#include "methods/fixed_policy_learner.hpp"

namespace scrm {
namespace {

std::unique_ptr<Learner> make_majority(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicyLearner>(setup.problem.constant_policy(true).value());
}

std::string without_majority(const ProblemFactory& environment, const RunOptions& options) {
  if (environment.action_kind == ActionKind::continuous) return "its actions are neither bits nor categories";
  return without_right_actions(environment, options);
}

}  // namespace

/// Each label as most training rows have it, or the class that most have, whatever the context.
MethodEntry majority_method() {
  return {
      .name = "majority",
      .description = "each bit's majority, or the most frequent class",
      .make = make_majority,
      .inapplicable_reason = without_majority,
  };
}

}  // namespace scrm
