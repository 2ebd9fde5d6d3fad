#include "sweep/run/run_groups.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "scrm/io/shard/block_buffer.hpp"
#include "sweep/run/run_memory.hpp"

namespace scrm {
namespace {

void estimate_resources(const SweepPlan& plan, std::size_t memory, int threads, RunGroup& group) {
  const Experiment& experiment = plan.experiments()[group.experiment];
  const RunOptions& options = experiment.options;
  const ProblemShape& shape = experiment.shape;
  const std::int64_t all = shape.rows_before.at(static_cast<std::size_t>(options.rollouts));
  const std::int64_t last = shape.batch_rows(options.rollouts - 1);
  const MethodEntry& method = *experiment.method.method;
  const bool learns = method.learns;
  const bool pools = !method.deploys || (options.past != PastRollouts::last && !method.incremental);
  const std::size_t copies = pools && method.deploys && options.past == PastRollouts::balance ? 2 : 1;
  const std::size_t bytes = learns ? static_cast<std::size_t>(pools ? all : last) * shape.row_bytes : 0;
  // Half the budget for one run's rows leaves room for others beside it.
  const bool held = memory == 0 || copies * bytes <= memory / 2;
  const std::size_t streaming =
      memory == 0 ? kStreamingBytes : std::clamp<std::size_t>(memory / kStreamingShare, 1, kStreamingBytes);
  const std::size_t working = kWorkingBytes + kWorkingBlocks * block_buffer_bytes(shape.schema);
  // The bytes are an estimate: rows that are to be held are not turned away for being a little more.
  group.rows_memory = held ? memory : streaming;
  group.memory = shape.problem_bytes + (held ? copies * bytes + working : streaming);
  group.cost = static_cast<double>(learns ? (pools ? 2 * all : all) : 1) * static_cast<double>(shape.row_bytes) *
               static_cast<double>(group.runs.size());
  if (method.resources == nullptr) return;
  // Runs of one group learn one after another.
  std::size_t most = 0;
  for (const std::size_t run : group.runs) {
    const MethodResources resources = method.resources(shape, options, plan.runs()[run].parameters, threads);
    most = std::max(most, resources.bytes);
    group.cost += resources.cost;
    if (!resources.hint.empty()) group.hint = resources.hint;
  }
  group.memory += most;
}

}  // namespace

std::vector<RunGroup> group_runs(const SweepPlan& plan, const std::function<bool(std::size_t)>& wanted,
                                 std::size_t memory, int threads) {
  std::map<std::pair<std::size_t, std::int64_t>, RunGroup> shared;
  std::vector<RunGroup> groups;
  for (std::size_t i = 0; i < plan.runs().size(); ++i) {
    const PlannedRun& run = plan.runs()[i];
    const Experiment& experiment = plan.experiments()[run.experiment];
    if (experiment.factory == nullptr || !wanted(i)) continue;
    if (experiment.method.method->deploys) {
      groups.push_back({.experiment = run.experiment, .seed = run.record.seed, .runs = {i}});
    } else {
      RunGroup& group = shared[{run.experiment, run.record.seed}];
      group.experiment = run.experiment;
      group.seed = run.record.seed;
      group.runs.push_back(i);
    }
  }
  for (auto& [key, group] : shared) groups.push_back(std::move(group));
  // The scheduler keeps the order of equals.
  const auto problem = [&plan](const RunGroup& g) {
    return std::pair(plan.experiments()[g.experiment].environment, g.seed);
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const RunGroup& a, const RunGroup& b) { return problem(a) < problem(b); });
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) groups[i].problem = groups[i - 1].problem + (problem(groups[i - 1]) < problem(groups[i]) ? 1 : 0);
    estimate_resources(plan, memory, threads, groups[i]);
  }
  return groups;
}

}  // namespace scrm
