/// The value pass over logs in memory, against the least any pass can cost: reading and adding every number.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "shared/logs.hpp"
#include "shared/paired.hpp"
#include "shared/read_sum.hpp"

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

std::vector<NamedPolicy> make_policies(int count) {
  std::vector<NamedPolicy> out;
  for (int p = 0; p < count; ++p) out.push_back({"target", make_target_policy(target_policy(p), schema(), "target")});
  return out;
}

EvaluationReport value_pass(Source& source, const std::vector<NamedPolicy>& policies, int threads,
                            const std::string& baseline = kLoggedBaseline) {
  PassOptions options;
  options.threads = threads;
  EvaluateOptions evaluation;
  evaluation.baseline = baseline;
  return evaluate(source, policies, evaluation, options);
}

bool is_right(const PolicyReport& report, const Expected& truth) {
  return truth.agrees(report.diagnostics.mean_weight.value(), report.estimates[0].value.value());
}

// Reference: read-sum with the same threads. Argument: threads, 0 for all.
void value_pass_against_read_sum(benchmark::State& state) {
  const int threads = state.range(0) > 0 ? static_cast<int>(state.range(0)) : all_threads();
  const std::vector<NamedPolicy> policies = make_policies(1);
  const Expected truth = expected(kBlocks, target_policy(0));
  InMemory& logs = in_memory();
  double sum = 0;
  EvaluationReport sums;
  measure_pair(
      state, [&] { sum = read_sum(logs.blocks, threads); }, [&] { sums = value_pass(logs.source, policies, threads); });
  if (!is_right(sums.policies[0], truth)) state.SkipWithError("the value is wrong");
  if (std::abs(sum / static_cast<double>(truth.column_sum) - 1) > 1e-9) state.SkipWithError("the read-sum is wrong");
  const double bytes = static_cast<double>(kBlocks) * kBlockRows * kRowBytes;
  state.counters["read_GB/s"] = bytes / state.counters["reference_s"] * 1e-9;
  state.counters["pass_GB/s"] = bytes / state.counters["subject_s"] * 1e-9;
  state.counters["ns/row"] = state.counters["subject_s"] * 1e9 / (static_cast<double>(kBlocks) * kBlockRows);
}

// Reference: the same pass on one thread.
void value_pass_on_two_threads(benchmark::State& state) {
  const std::vector<NamedPolicy> policies = make_policies(1);
  const Expected truth = expected(kBlocks, target_policy(0));
  InMemory& logs = in_memory();
  EvaluationReport one, two;
  measure_pair(
      state, [&] { one = value_pass(logs.source, policies, 1); }, [&] { two = value_pass(logs.source, policies, 2); });
  if (!is_right(two.policies[0], truth)) state.SkipWithError("the value is wrong");
  if (one.policies[0].estimates[0].value != two.policies[0].estimates[0].value)
    state.SkipWithError("threads changed the bits");
}

// Reference: one policy. The ratio is below one; its inverse is what many policies cost.
void many_policies_against_one(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const std::vector<NamedPolicy> one = make_policies(1);
  const std::vector<NamedPolicy> many = make_policies(count);
  InMemory& logs = in_memory();
  EvaluationReport single, all;
  measure_pair(
      state, [&] { single = value_pass(logs.source, one, 1); }, [&] { all = value_pass(logs.source, many, 1); });
  for (int p = 0; p < count; ++p) {
    if (!is_right(all.policies[static_cast<std::size_t>(p)], expected(kBlocks, target_policy(p)))) {
      state.SkipWithError("a value is wrong");
    }
  }
  if (single.policies[0].estimates[0].value != all.policies[0].estimates[0].value)
    state.SkipWithError("company changed the bits");
}

// Reference: the same pass without differences. Argument: policies.
void differences_against_none(benchmark::State& state) {
  const std::vector<NamedPolicy> policies = make_policies(static_cast<int>(state.range(0)));
  InMemory& logs = in_memory();
  EvaluationReport without, with;
  measure_pair(
      state, [&] { without = value_pass(logs.source, policies, 1, ""); },
      [&] { with = value_pass(logs.source, policies, 1); });
  const Expected truth = expected(kBlocks, target_policy(0));
  if (!is_right(with.policies[0], truth)) state.SkipWithError("the value is wrong");
  const double value = with.policies[0].estimates[0].value.value(), logged = with.loss.true_mean();
  const double difference = with.policies[0].difference->estimates[0].value.value();
  if (std::abs(value - logged - difference) > 1e-9 * std::abs(value)) state.SkipWithError("the difference is wrong");
}

BENCHMARK(differences_against_none)->Arg(1)->Arg(4)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(15);
BENCHMARK(value_pass_against_read_sum)->Arg(1)->Arg(0)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(15);
BENCHMARK(value_pass_on_two_threads)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(15);
BENCHMARK(many_policies_against_one)->Arg(32)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace scrm::bench
