/// What each kernel costs a row, on one block that stays in the cache; `loads` is the same with nothing but loads.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>

#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/weights/gaussian_weights.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"
#include "scrm/kernels/weights/weights.hpp"
#include "shared/logs.hpp"
#include "shared/read_sum.hpp"

namespace scrm::bench {
namespace {

struct alignas(kColumnAlignment) Column {
  std::array<double, kBlockRows> values;
  double* data() { return values.data(); }
};

Block one_block() {
  return pattern()[0]->view(0, kBlockRows);
}

bool near(double value, long double truth) {
  return std::abs(value - static_cast<double>(truth)) <= 1e-13 * (1 + std::abs(static_cast<double>(truth)));
}

void count_rows(benchmark::State& state, int times = 1) {
  const double rows = static_cast<double>(state.iterations()) * kBlockRows * times;
  state.counters["s/row"] =
      benchmark::Counter(rows, benchmark::Counter::kIsRate | benchmark::Counter::kInvert, benchmark::Counter::kIs1000);
}

// A chain of multiplications, three cycles each on the x86 of the last fifteen years, tells how long a cycle takes at
// the clock the machine runs at now; the rest of the loop hides behind it.
void cycle(benchmark::State& state) {
  std::uint64_t product = 3;
  for (auto _ : state) {
    for (int i = 0; i < kBlockRows; ++i) {
      product *= product;
      asm volatile("" : "+r"(product));  // stays in its register, which DoNotOptimize does not promise
    }
  }
  if (product % 2 != 1) state.SkipWithError("wrong product");
  count_rows(state, 3);
}

void loads(benchmark::State& state) {
  const Block block = one_block();
  double sum = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sum = block_sum(block));
  if (!near(sum / static_cast<double>(plain_sums(0, target_policy()).column_sum), 1)) state.SkipWithError("wrong sum");
  count_rows(state);
}

void scores(benchmark::State& state) {
  const Block block = one_block();
  const Policy policy = target_policy();
  Column out;
  for (auto _ : state) {
    block_scores(block, policy.features, policy.theta.data(), out.data());
    benchmark::ClobberMemory();
  }
  const auto* context = static_cast<const double*>(block.context);
  for (int i = 0; i < kBlockRows; ++i) {
    long double truth = policy.theta[0];
    for (int j = 0; j < kFeatures; ++j) {
      truth += static_cast<long double>(policy.theta[static_cast<std::size_t>(1 + j)]) * context[j * kBlockRows + i];
    }
    if (!near(out.values[static_cast<std::size_t>(i)], truth)) state.SkipWithError("wrong score");
  }
  count_rows(state);
}

void gaussian_density(benchmark::State& state) {
  const Block block = one_block();
  const Policy policy = target_policy();
  Column mean, out;
  block_scores(block, policy.features, policy.theta.data(), mean.data());
  for (auto _ : state) {
    gaussian_log_density(block.action, mean.data(), policy.scale, out.data());
    benchmark::ClobberMemory();
  }
  for (std::size_t i = 0; i < kBlockRows; ++i) {
    const long double z = (static_cast<long double>(block.action[i]) - mean.values[i]) / policy.scale;
    const long double norm = std::log(2 * 3.14159265358979323846264338327950288L) / 2 + std::log(0.8L);
    if (!near(out.values[i], -z * z / 2 - norm)) state.SkipWithError("wrong density");
  }
  count_rows(state);
}

void weights_of_logs(benchmark::State& state) {
  const Block block = one_block();
  PolicyScratch scratch;
  Column density, out;
  make_target_policy(target_policy(), schema(), "target")->log_density(block, scratch, density.data());
  for (auto _ : state) {
    weights_from_log_density(block, density.data(), out.data());
    benchmark::ClobberMemory();
  }
  for (std::size_t i = 0; i < kBlockRows; ++i) {
    const long double truth = std::exp(static_cast<long double>(density.values[i])) / block.propensity[i];
    if (!near(out.values[i], truth)) state.SkipWithError("wrong weight");
  }
  count_rows(state);
}

void policy_weights(benchmark::State& state) {
  const Block block = one_block();
  const auto policy = make_target_policy(target_policy(), schema(), "target");
  PolicyScratch scratch;
  Column out;
  for (auto _ : state) {
    policy->weights(block, scratch, out.data());
    benchmark::ClobberMemory();
  }
  double sum = 0;
  for (const double weight : out.values) sum += weight;
  if (!near(sum / kBlockRows, plain_sums(0, target_policy()).mean_weight / kBlockRows)) {
    state.SkipWithError("wrong weights");
  }
  count_rows(state);
}

// Argument: policies at a time. Rows count once for each policy.
void fused_weights(benchmark::State& state) {
  const Block block = one_block();
  const int count = static_cast<int>(state.range(0));
  std::vector<Policy> policies;
  for (int p = 0; p < count; ++p) policies.push_back(target_policy(p));
  std::vector<LinearGaussian> gaussians;
  for (const Policy& policy : policies) gaussians.push_back({policy.theta.data(), policy.scale});
  std::vector<Column> out(static_cast<std::size_t>(count));
  for (auto _ : state) {
    gaussian_weights(block, gaussians.data(), count, out[0].data());
    benchmark::ClobberMemory();
  }
  Column plain;
  PolicyScratch scratch;
  for (int p = 0; p < count; ++p) {
    const auto policy = make_target_policy(target_policy(p), schema(), "target");
    policy->log_density(block, scratch, plain.data());
    weights_from_log_density(block, plain.data(), plain.data());
    if (plain.values != out[static_cast<std::size_t>(p)].values) state.SkipWithError("not the bits of separate steps");
  }
  count_rows(state, count);
}

// Arguments: whether a clip M is given, and whether ranges are wanted.
void weight_sums(benchmark::State& state) {
  const Block block = one_block();
  PolicyScratch scratch;
  Column weights, used;
  make_target_policy(target_policy(), schema(), "target")->weights(block, scratch, weights.data());
  const WeightOptions rules{1e-7, state.range(0) != 0 ? 2.0 : 0.0, state.range(1) != 0};
  WeightSums sums;
  for (auto _ : state) {
    used = weights;
    compute_weight_sums(block, used.data(), rules, sums);
    benchmark::ClobberMemory();
  }
  double left = 0;
  for (const double weight : weights.values) left += weight;
  for (const TopRows::Entry& entry : sums.top.entries) left -= entry.weight;
  if (!near(sums.weight.true_mean(), left / (kBlockRows - TopRows::kSize))) state.SkipWithError("wrong sums");
  count_rows(state);
}

BENCHMARK(cycle);
BENCHMARK(loads);
BENCHMARK(scores);
BENCHMARK(gaussian_density);
BENCHMARK(weights_of_logs);
BENCHMARK(policy_weights);
BENCHMARK(fused_weights)->Arg(1)->Arg(4)->Arg(32);
BENCHMARK(weight_sums)->Args({0, 0})->Args({0, 1})->Args({1, 0})->Args({1, 1});

}  // namespace
}  // namespace scrm::bench
