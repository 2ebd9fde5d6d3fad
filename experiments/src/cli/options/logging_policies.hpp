/// What --logging-policy gives: the policies that logged each rollout, in rollout order, checked against the rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/shard/dataset.hpp"

namespace scrm {

/// Reads one policy for each rollout of the data. Fails when there are more or fewer, and when the recorded
/// propensities show that they are in another order; warns where the propensities are those of none.
std::vector<std::shared_ptr<const TargetPolicy>> load_logging_policies(const std::vector<std::string>& files,
                                                                       const Dataset& dataset,
                                                                       const CommonOptions& common);

}  // namespace scrm
