/// The policies that logged each rollout, in rollout order, checked against the rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "task/task_options.hpp"

namespace scrm {

/// One policy for each rollout of the data, made ready. Fails when there are more or fewer, and when the recorded
/// propensities show that they are in another order; warns where the propensities are those of none.
std::vector<std::shared_ptr<const TargetPolicy>> prepare_logging_policies(const std::vector<PolicyFile>& files,
                                                                          const Dataset& dataset,
                                                                          const TaskOptions& task);

}  // namespace scrm
