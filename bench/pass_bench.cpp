/// The value pass over logs in memory, against the least any pass can cost: reading and adding every number.
#include <benchmark/benchmark.h>

#include <cmath>
#include <thread>
#include <vector>

#include "logs.hpp"
#include "paired.hpp"
#include "read_sum.hpp"
#include "scrm/engine/pass.hpp"
#include "scrm/kernels/weight_sums.hpp"

namespace scrm::bench {
namespace {

// Ten million rows, one gigabyte: far beyond any cache.
constexpr std::int64_t kBlocks = 4883;

struct InMemory {
  MemorySource source = memory_logs(kBlocks);
  std::vector<Block> blocks = views(source);
};

InMemory& in_memory() {
  static InMemory logs;
  return logs;
}

int all_threads() {
  return static_cast<int>(std::thread::hardware_concurrency());
}

using Policies = std::vector<std::unique_ptr<TargetPolicy>>;

Policies make_policies(int count) {
  Policies out;
  for (int p = 0; p < count; ++p) out.push_back(make_target_policy(target_policy(p), schema(), "target"));
  return out;
}

WeightRules rules() {
  return {1.0 / (static_cast<double>(kBlocks) * kBlockRows), 0};
}

std::vector<WeightSums> value_pass(Source& source, const Policies& policies, int threads) {
  const auto compute = [&policies](const Block& block, std::vector<WeightSums>& sums) {
    thread_local PolicyScratch scratch;
    alignas(kColumnAlignment) double weights[kBlockRows];
    for (std::size_t p = 0; p < policies.size(); ++p) {
      policies[p]->weights(block, scratch, weights);
      compute_weight_sums(block, weights, rules(), sums[p]);
    }
  };
  const auto merge = [](std::vector<WeightSums>& earlier, const std::vector<WeightSums>& later) {
    for (std::size_t p = 0; p < earlier.size(); ++p) merge_weight_sums(earlier[p], later[p], rules());
  };
  PassOptions options;
  options.threads = threads;
  return run_pass(source, std::vector<WeightSums>(policies.size()), compute, merge, options).first;
}

bool is_right(WeightSums sums, const Expected& truth) {
  const TopRows top = sums.top;
  for (int t = 0; t < top.count; ++t) {
    const TopRows::Entry& entry = top.entries[static_cast<std::size_t>(t)];
    add_row(sums, entry.weight, entry.loss, rules());
  }
  return truth.agrees(sums.weight.true_mean(), sums.ips.true_mean());
}

// Reference: read-sum with the same threads. Argument: threads, 0 for all.
void value_pass_against_read_sum(benchmark::State& state) {
  const int threads = state.range(0) > 0 ? static_cast<int>(state.range(0)) : all_threads();
  const Policies policies = make_policies(1);
  const Expected truth = expected(kBlocks, target_policy(0));
  InMemory& logs = in_memory();
  double sum = 0;
  std::vector<WeightSums> sums;
  measure_pair(
      state, [&] { sum = read_sum(logs.blocks, threads); }, [&] { sums = value_pass(logs.source, policies, threads); });
  if (!is_right(sums[0], truth)) state.SkipWithError("the value is wrong");
  if (std::abs(sum / static_cast<double>(truth.column_sum) - 1) > 1e-9) state.SkipWithError("the read-sum is wrong");
  const double bytes = static_cast<double>(kBlocks) * kBlockRows * kRowBytes;
  state.counters["read_GB/s"] = bytes / state.counters["reference_s"] * 1e-9;
  state.counters["pass_GB/s"] = bytes / state.counters["subject_s"] * 1e-9;
  state.counters["ns/row"] = state.counters["subject_s"] * 1e9 / (static_cast<double>(kBlocks) * kBlockRows);
}

// Reference: the same pass on one thread.
void value_pass_on_two_threads(benchmark::State& state) {
  const Policies policies = make_policies(1);
  const Expected truth = expected(kBlocks, target_policy(0));
  InMemory& logs = in_memory();
  std::vector<WeightSums> one, two;
  measure_pair(
      state, [&] { one = value_pass(logs.source, policies, 1); }, [&] { two = value_pass(logs.source, policies, 2); });
  if (!is_right(two[0], truth)) state.SkipWithError("the value is wrong");
  if (one[0].ips.mean != two[0].ips.mean) state.SkipWithError("threads changed the bits");
}

// Reference: one policy. The ratio is below one; its inverse is what many policies cost.
void many_policies_against_one(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const Policies one = make_policies(1);
  const Policies many = make_policies(count);
  InMemory& logs = in_memory();
  std::vector<WeightSums> single, all;
  measure_pair(
      state, [&] { single = value_pass(logs.source, one, 1); }, [&] { all = value_pass(logs.source, many, 1); });
  for (int p = 0; p < count; ++p) {
    if (!is_right(all[static_cast<std::size_t>(p)], expected(kBlocks, target_policy(p)))) {
      state.SkipWithError("a value is wrong");
    }
  }
  if (single[0].ips.mean != all[0].ips.mean) state.SkipWithError("company changed the bits");
}

BENCHMARK(value_pass_against_read_sum)->Arg(1)->Arg(0)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(15);
BENCHMARK(value_pass_on_two_threads)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(15);
BENCHMARK(many_policies_against_one)->Arg(32)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace scrm::bench
