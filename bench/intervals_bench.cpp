/// Every kind of interval on ten million rows, against the same pass with normal intervals.
#include <benchmark/benchmark.h>

#include <cmath>
#include <thread>

#include "scrm/engine/estimate/evaluate.hpp"
#include "shared/logs.hpp"
#include "shared/paired.hpp"

namespace scrm::bench {
namespace {

constexpr std::int64_t kBlocks = 4883;

// Reference: normal intervals, whose estimates must be the same.
void interval_kind(benchmark::State& state) {
  MemorySource source = memory_logs(kBlocks);
  const std::vector<NamedPolicy> policies = {{"target", make_target_policy(target_policy(), schema(), "target")}};
  PassOptions pass;
  pass.threads = static_cast<int>(std::thread::hardware_concurrency());
  EvaluateOptions plain, other;
  plain.interval = IntervalKind::normal;
  plain.estimators = other.estimators = {"ips", "snips"};
  const IntervalDefinition& kind = all_intervals()[static_cast<std::size_t>(state.range(0))];
  other.interval = kind.kind;
  other.max_weight = 1e6;
  other.outcome_range = OutcomeRange{-1e3, 1e3};
  state.SetLabel(kind.name);
  EvaluationReport normal, bounded;
  measure_pair(
      state, [&] { normal = evaluate(source, policies, plain, pass); },
      [&] { bounded = evaluate(source, policies, other, pass); });
  for (std::size_t e = 0; e < normal.policies[0].estimates.size(); ++e) {
    const Estimate& a = normal.policies[0].estimates[e];
    const Estimate& b = bounded.policies[0].estimates[e];
    // Their sums may be formed with ranges or without.
    if (std::abs(*a.value - *b.value) > 1e-12 * std::abs(*a.value)) state.SkipWithError("the estimate changed");
    if (!(*b.low < *b.high)) state.SkipWithError("there is no interval");
  }
}

BENCHMARK(interval_kind)
    ->DenseRange(0, static_cast<int>(all_intervals().size()) - 1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace scrm::bench
