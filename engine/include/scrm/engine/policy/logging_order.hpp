/// Whether logging policies are given in the order of the rollouts they logged.
#pragma once

#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/source.hpp"

namespace scrm {

/// Compares the recorded propensities of each rollout's first block of rows with what every logging policy gives these
/// rows. Throws when those of a rollout contradict the policy at its place and agree with another of the policies. The
/// warnings it returns name rollouts whose propensities agree with none. One policy for each rollout, in order.
std::vector<std::string> check_logging_order(const std::vector<Source*>& rollouts,
                                             const std::vector<NamedPolicy>& logging_policies);

}  // namespace scrm
