#include "scrm/engine/estimate/as_rewards.hpp"

namespace scrm {
namespace {

std::optional<double> negated(const std::optional<double>& value) {
  return value ? std::optional(-*value) : std::nullopt;
}

}  // namespace

Moments as_rewards(const Moments& losses) {
  Moments rewards = losses;
  rewards.mean = -losses.mean;
  rewards.lowest = -losses.highest;
  rewards.highest = -losses.lowest;
  return rewards;
}

Estimate as_rewards(const Estimate& losses) {
  Estimate rewards = losses;
  rewards.value = negated(losses.value);
  rewards.low = negated(losses.high);
  rewards.high = negated(losses.low);
  return rewards;
}

EvaluationReport as_rewards(EvaluationReport losses) {
  losses.loss = as_rewards(losses.loss);
  for (PolicyReport& policy : losses.policies) {
    for (Estimate& estimate : policy.estimates) estimate = as_rewards(estimate);
    if (!policy.difference) continue;
    for (Estimate& estimate : policy.difference->estimates) estimate = as_rewards(estimate);
  }
  return losses;
}

}  // namespace scrm
