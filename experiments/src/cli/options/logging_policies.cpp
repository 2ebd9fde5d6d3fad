#include "cli/options/logging_policies.hpp"

#include <fmt/format.h>

#include "report/terminal.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/policy/logging_order.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/policy/read_policy.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"

namespace scrm {

std::vector<std::shared_ptr<const TargetPolicy>> load_logging_policies(const std::vector<std::string>& files,
                                                                       const Dataset& dataset,
                                                                       const CommonOptions& common) {
  const std::vector<int> rollouts = dataset.rollouts();
  if (rollouts.size() != files.size()) {
    fail_usage(fmt::format(
        "the data has {} rollout{}, but {} logging polic{} given; give one --logging-policy for each "
        "rollout, in order",
        rollouts.size(), rollouts.size() == 1 ? "" : "s", files.size(), files.size() == 1 ? "y was" : "ies were"));
  }
  std::vector<NamedPolicy> named;
  std::vector<std::shared_ptr<const TargetPolicy>> policies;
  for (const std::string& path : files) {
    const std::size_t memory = MemoryLedger::of_process(common.memory).left();
    policies.push_back(make_target_policy(read_policy(path, memory), dataset.schema(), path));
    named.push_back({path, policies.back()});
  }
  std::vector<std::unique_ptr<ShardSource>> owned;
  std::vector<Source*> sources;
  for (const int rollout : rollouts) {
    owned.push_back(std::make_unique<ShardSource>(dataset.rollout(rollout)));
    sources.push_back(owned.back().get());
  }
  for (const std::string& warning : check_logging_order(sources, named)) print_warning(warning, common.quiet);
  return policies;
}

}  // namespace scrm
