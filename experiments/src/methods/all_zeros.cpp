#include "methods/fixed_policy_learner.hpp"

namespace scrm {
namespace {

std::unique_ptr<Learner> make_all_zeros(const LearnerSetup& setup) {
  return std::make_unique<FixedPolicyLearner>(setup.problem.constant_policy(false).value());
}

std::string without_bits(const ProblemFactory& environment, const RunOptions&) {
  return environment.action_kind == ActionKind::multilabel ? "" : "its actions are not bits";
}

}  // namespace

/// No bit is ever set: what a method must beat where few labels are true.
MethodEntry all_zeros_method() {
  return {
      .name = "all-zeros",
      .description = "no bit is ever set",
      .make = make_all_zeros,
      .inapplicable_reason = without_bits,
  };
}

}  // namespace scrm
