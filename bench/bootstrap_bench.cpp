/// A thousand bootstrap replicates of every estimator beside the point estimates, against the pass without them.
#include <benchmark/benchmark.h>

#include <cmath>
#include <thread>

#include "scrm/engine/estimate/evaluate.hpp"
#include "shared/logs.hpp"
#include "shared/paired.hpp"

namespace scrm::bench {
namespace {

// A million rows, as the resampling in NumPy that it is compared with.
constexpr std::int64_t kBlocks = 489;

// Reference: the same evaluation with normal intervals.
void thousand_replicates(benchmark::State& state) {
  MemorySource source = memory_logs(kBlocks);
  const std::vector<NamedPolicy> policies = {{"target", make_target_policy(target_policy(), schema(), "target")}};
  PassOptions pass;
  pass.threads = static_cast<int>(std::thread::hardware_concurrency());
  EvaluateOptions plain, bootstrap;
  bootstrap.interval = IntervalKind::bootstrap;
  EvaluationReport normal, resampled;
  measure_pair(
      state, [&] { normal = evaluate(source, policies, plain, pass); },
      [&] { resampled = evaluate(source, policies, bootstrap, pass); });
  // The two intervals estimate the same thing: from 1,000 replicates their widths differ by 3 % or so, one in a
  // thousand times by 8 %.
  for (std::size_t e = 0; e < normal.policies[0].estimates.size(); ++e) {
    const Estimate& a = normal.policies[0].estimates[e];
    const Estimate& b = resampled.policies[0].estimates[e];
    const double wide = *a.high - *a.low, other = *b.high - *b.low;
    if (*a.value != *b.value) state.SkipWithError("the bootstrap changed the estimate");
    if (std::abs(other / wide - 1) > 0.12) state.SkipWithError("the bootstrap interval is wrong");
  }
}

BENCHMARK(thousand_replicates)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace scrm::bench
