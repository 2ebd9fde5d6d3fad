/// FixedPolicy: a method that has one policy from the start and learns nothing from logs.
#pragma once

#include <utility>

#include "scrm/experiments/method.hpp"

namespace scrm {

class FixedPolicy final : public Learner {
 public:
  explicit FixedPolicy(Policy policy) : policy_(std::move(policy)) {}

  void learn(Source&, int) override {}
  const Policy& policy(std::size_t) const override { return policy_; }
  Deployed next_actor() const override { return {policy_, false}; }

 private:
  Policy policy_;
};

}  // namespace scrm
