#include "task/logging_policies.hpp"

#include <fmt/format.h>

#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/policy/logging_order.hpp"
#include "scrm/io/file/error.hpp"
#include "task/unnamed_inputs.hpp"

namespace scrm {

std::vector<std::shared_ptr<const TargetPolicy>> prepare_logging_policies(const std::vector<PolicyFile>& files,
                                                                          const Dataset& dataset,
                                                                          const TaskOptions& task) {
  const std::vector<int> rollouts = dataset.rollouts();
  if (rollouts.size() != files.size()) {
    throw Error(ErrorKind::usage,
                fmt::format("the data has {} rollout{}, but {} logging polic{} given; give one --logging-policy for "
                            "each rollout, in order",
                            rollouts.size(), rollouts.size() == 1 ? "" : "s", files.size(),
                            files.size() == 1 ? "y was" : "ies were"));
  }
  std::vector<NamedPolicy> named;
  std::vector<std::shared_ptr<const TargetPolicy>> policies;
  for (const auto& [name, policy] : files) {
    policies.push_back(make_target_policy(policy, dataset.schema(), name));
    named.push_back({name, policies.back()});
  }
  for (const auto& [name, policy] : files) {
    const std::string warning = unnamed_inputs_warning(policy, name, dataset);
    if (!warning.empty()) task.warning(warning);
  }
  std::vector<std::unique_ptr<ShardSource>> owned;
  std::vector<Source*> sources;
  for (const int rollout : rollouts) {
    owned.push_back(std::make_unique<ShardSource>(dataset.rollout(rollout)));
    sources.push_back(owned.back().get());
  }
  for (const std::string& warning : check_logging_order(sources, named)) task.warning(warning);
  return policies;
}

}  // namespace scrm
