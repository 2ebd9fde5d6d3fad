/// FixedPolicyLearner: a method that has one policy from the start and learns nothing from logs.
#pragma once

#include <string>
#include <utility>

#include "scrm/experiments/method.hpp"

namespace scrm {

class FixedPolicyLearner final : public Learner {
 public:
  explicit FixedPolicyLearner(Policy policy) : policy_(std::move(policy)) {}

  void learn(Source&, int) override {}
  const Policy& policy(std::size_t) const override { return policy_; }
  LoggingPolicy next_logging_policy() const override { return {policy_, false}; }

 private:
  Policy policy_;
};

/// Why a method that goes by right actions cannot play; empty where it can.
inline std::string without_right_actions(const ProblemFactory& environment, const RunOptions&) {
  return environment.knows_right_actions ? "" : "its right actions are not known";
}

}  // namespace scrm
