/// Learning: the pass that gives the objective and its gradient, against memory and against matrix products, and a
/// whole fit from shards.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <cmath>
#include <thread>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/pass/write_shards.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "shared/folder.hpp"
#include "shared/label_logs.hpp"
#include "shared/logs.hpp"
#include "shared/paired.hpp"
#include "shared/read_sum.hpp"

namespace scrm::bench {
namespace {

// Ten million rows, one gigabyte: far beyond any cache.
constexpr std::int64_t kBlocks = 4883;
// A million rows.
constexpr std::int64_t kLearnBlocks = 489;
constexpr double kLambda = 0.1;

PassOptions on_threads(std::int64_t threads) {
  PassOptions options;
  options.threads = threads > 0 ? static_cast<int>(threads) : static_cast<int>(std::thread::hardware_concurrency());
  return options;
}

ObjectiveProblem make_problem(const Policy& policy, const Estimator* estimator, const Source& source, double mean) {
  ObjectiveProblem problem{policy, {}, nullptr};
  problem.rules.estimator = estimator;
  problem.rules.lambda = kLambda;
  problem.rules.alpha = 1.0 / static_cast<double>(source.rows());
  problem.rules.mean_loss = mean;
  return problem;
}

/// Whether the risk is what `evaluate` estimates, and the gradient what central differences find along one direction.
bool is_right(Source& source, const ObjectiveProblem& problem, const ObjectiveValue& found) {
  const PassOptions pass = on_threads(0);
  EvaluateOptions options;
  options.estimators = {problem.rules.estimator->name};
  options.alpha = problem.rules.alpha;
  const std::vector<NamedPolicy> policies = {{"", make_target_policy(problem.policy, source.schema(), "target")}};
  const double value = evaluate(source, policies, options, pass).policies[0].estimates[0].value.value();
  constexpr double kStep = 1e-5;
  std::vector<ObjectiveProblem> sides(2, problem);
  double slope = 0, norm = 0;
  for (std::size_t j = 0; j < problem.policy.theta.size(); ++j) {
    const double direction = j % 3 == 0 ? -1.0 : 1.0;
    sides[0].policy.theta[j] -= kStep * direction;
    sides[1].policy.theta[j] += kStep * direction;
    slope += direction * found.gradient[j];
    norm += std::abs(found.gradient[j]);
  }
  const std::vector<ObjectiveValue> ends = evaluate_objectives(source, sides, pass);
  const double difference = (ends[1].objective - ends[0].objective) / (2 * kStep);
  return std::abs(found.risk / value - 1) < 1e-12 && std::abs(slope - difference) < 1e-6 * norm;
}

struct InMemory {
  MemorySource source = memory_logs(kBlocks);
  std::vector<Block> blocks = views(source);
};

// Reference: read-sum with the same threads. Argument: threads, 0 for all.
void gradient_pass_against_read_sum(benchmark::State& state) {
  static InMemory logs;
  const PassOptions pass = on_threads(state.range(0));
  const ObjectiveProblem problem = make_problem(target_policy(), &kIpsIxEstimator, logs.source, 0);
  double sum = 0;
  ObjectiveValue found;
  measure_pair(
      state, [&] { sum = read_sum(logs.blocks, pass.threads); },
      [&] { found = evaluate_objectives(logs.source, {problem}, pass).front(); });
  if (!is_right(logs.source, problem, found)) state.SkipWithError("value or gradient is wrong");
  const auto truth = static_cast<double>(expected(kBlocks, target_policy()).column_sum);
  if (std::abs(sum / truth - 1) > 1e-9) state.SkipWithError("the read-sum is wrong");
  const double bytes = static_cast<double>(kBlocks) * kBlockRows * kRowBytes;
  state.counters["read_GB/s"] = bytes / state.counters["reference_s"] * 1e-9;
  state.counters["pass_GB/s"] = bytes / state.counters["subject_s"] * 1e-9;
  state.counters["ns/row"] = state.counters["subject_s"] * 1e9 / (static_cast<double>(kBlocks) * kBlockRows);
}

/// The three matrix products of a value and gradient, for as many blocks, on a context that is already doubles.
void bare_products(std::int64_t blocks, const std::vector<double>& context, const std::vector<double>& theta,
                   std::vector<double>& columns, std::vector<double>& gradient) {
  const int d = kLabelFeatures, k = kLabels;
  for (std::int64_t b = 0; b < blocks; ++b) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kBlockRows, k, d, 1.0, context.data(), kBlockRows,
                theta.data(), d, 0.0, columns.data(), kBlockRows);
    for (int product = 0; product < 2; ++product) {
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, d, k, kBlockRows, 1.0, context.data(), kBlockRows,
                  columns.data(), kBlockRows, 0.0, gradient.data(), d);
    }
  }
}

// Reference: OpenBLAS on the same shapes, one thread each. Argument: the estimator's place in the
// registry, 4 for additive and 3 for ips-ix.
void label_gradient_against_products(benchmark::State& state) {
  static MemorySource source = label_logs();
  limit_openblas_to_one_thread();
  const Estimator* estimator = all_estimators().at(static_cast<std::size_t>(state.range(0)));
  const ObjectiveProblem problem = make_problem(label_target_policy(), estimator, source, mean_loss(source));
  const PassOptions pass = on_threads(1);
  constexpr std::size_t kCells = std::size_t{kLabelFeatures} * kLabels;
  const std::vector<double> context(std::size_t{kLabelFeatures} * kBlockRows, 0.5), theta(kCells, 0.5);
  std::vector<double> columns(std::size_t{kLabels} * kBlockRows), gradient(kCells);
  ObjectiveValue found;
  measure_pair(
      state, [&] { bare_products(source.blocks(), context, theta, columns, gradient); },
      [&] { found = evaluate_objectives(source, {problem}, pass).front(); });
  if (!is_right(source, problem, found)) state.SkipWithError("value or gradient is wrong");
  if (gradient.front() != 0.125 * kLabelFeatures * kBlockRows) state.SkipWithError("the matrix products are wrong");
  const double flops = 6.0 * static_cast<double>(source.rows()) * kLabelFeatures * kLabels;
  state.counters["products_GFLOPS"] = flops / state.counters["reference_s"] * 1e-9;
  state.counters["pass_GFLOPS"] = flops / state.counters["subject_s"] * 1e-9;
  state.SetLabel(openblas_core() + ", " + estimator->name);
}

// Opening and reading included: what `scrm learn` does. numpy_rivals.py has the other side.
void learn_from_shards(benchmark::State& state) {
  static const Folder folder;
  const std::string shards = (folder.path() / "learn").string();
  const std::string start = (folder.path() / "start.toml").string();
  std::filesystem::create_directories(shards);
  MemorySource memory = memory_logs(kLearnBlocks);
  write_shards(memory, plan_shards(shards, memory.rows(), 2), WriteOptions{}, PassOptions{});
  write_policy(start, gaussian_policy(0.8, 0.0));
  LearnOptions options;
  options.lambdas = {kLambda};
  options.minimize.tolerance = 1e-7;
  LearnReport report;
  std::vector<double> taken;
  for (auto _ : state) {
    const Seconds time = seconds([&] {
      ShardSource files(Dataset({shards}, ReadOptions{}));
      MemorySource rows(files, on_threads(0), false);
      report = learn(rows, read_policy(start), options, on_threads(0));
    });
    taken.push_back(time.wall);
    state.SetIterationTime(time.wall);
  }
  const LearnedPolicy& learned = report.policies.front();
  if (learned.search.status != MinimizeStatus::converged) state.SkipWithError(to_string(learned.search.status));
  state.counters["subject_s"] = median(taken);
  state.counters["objective"] = learned.value.objective;
  state.counters["evaluations"] = learned.search.evaluations;
}

BENCHMARK(gradient_pass_against_read_sum)
    ->Arg(1)
    ->Arg(0)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(15);
BENCHMARK(label_gradient_against_products)
    ->Arg(4)
    ->Arg(3)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(9);
BENCHMARK(learn_from_shards)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace scrm::bench
