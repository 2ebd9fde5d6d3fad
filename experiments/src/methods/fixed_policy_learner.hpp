/// FixedPolicyLearner: a method that has one policy from the start and learns nothing from logs.
#pragma once

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

}  // namespace scrm
