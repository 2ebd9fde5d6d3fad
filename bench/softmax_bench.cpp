/// Probabilities of one action among many, on one core: what an exponential of a softmax costs beside a plain vector
/// exponential, and what evaluation costs from contexts to weights. Arguments: actions, features.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/kernels/scores/densities.hpp"
#include "scrm/kernels/scores/score_gradients.hpp"
#include "scrm/kernels/vector/aligned_array.hpp"
#include "scrm/kernels/vector/elementary.hpp"
#include "scrm/kernels/vector/random.hpp"
#include "shared/paired.hpp"

namespace scrm::bench {
namespace {

/// A block of contexts and actions, and a policy over them.
struct Problem {
  Problem(std::int64_t num_actions, std::int64_t features) : actions(static_cast<int>(num_actions)) {
    schema.action_kind = ActionKind::categorical;
    schema.num_actions = actions;
    schema.features = features;
    buffer = std::make_unique<BlockBuffer>(schema);
    RandomStream random(5, 0, 0);
    for (std::int64_t i = 0; i < features * kBlockRows; ++i) buffer->context_f64()[i] = random.normal();
    for (int i = 0; i < kBlockRows; ++i) {
      buffer->category()[i] = std::min(static_cast<int>(random.uniform() * actions), actions - 1);
      buffer->propensity()[i] = 1.0 / actions;
    }
    policy.kind = PolicyKind::softmax;
    policy.outputs = actions;
    for (std::int64_t i = 0; i < actions * (1 + features); ++i) policy.theta.push_back(0.3 * random.normal());
    tolerance = 1e-13 * (1 + 0.02 * static_cast<double>(features));
    target = make_target_policy(policy, schema, "target");
  }

  Block block() const { return buffer->view(0, kBlockRows); }
  int times() const { return std::max(1, 1'000'000 / (actions * kBlockRows)); }

  long double log_probability(int row) const {
    const Block rows = block();
    const auto* x = static_cast<const double*>(rows.context);
    long double sum = 0, chosen = 0;
    for (int k = 0; k < actions; ++k) {
      const double* theta = policy.theta.data() + k * (1 + schema.features);
      long double score = theta[0];
      for (std::int64_t j = 0; j < schema.features; ++j) {
        score += static_cast<long double>(theta[1 + j]) * x[j * kBlockRows + row];
      }
      sum += std::exp(score);
      if (k == rows.category[row]) chosen = score;
    }
    return chosen - std::log(sum);
  }

  /// A few rows, since long doubles are slow.
  bool is_right(const double* log_probabilities) const {
    for (int i = 0; i < kBlockRows; i += 97) {
      if (std::abs(static_cast<double>(log_probabilities[i] - log_probability(i))) > tolerance) return false;
    }
    return true;
  }

  int actions;
  double tolerance = 0;  // scores round in units of their terms
  Schema schema;
  std::unique_ptr<BlockBuffer> buffer;
  Policy policy;
  std::unique_ptr<TargetPolicy> target;
};

/// As many exponentials as the softmax of a block has, from numbers in the first-level cache.
struct PlainExponentials {
  explicit PlainExponentials(const Problem& problem)
      : calls(static_cast<std::int64_t>(problem.actions) * problem.times()),
        in(make_aligned<double>(kCount)),
        out(make_aligned<double>(kCount)) {
    for (int i = 0; i < kCount; ++i) in[static_cast<std::size_t>(i)] = -0.01 * i;
  }
  void run() {
    for (std::int64_t c = 0; c < calls * (kBlockRows / kCount); ++c) {
      exp_array(in.get(), out.get(), kCount);
      benchmark::ClobberMemory();
    }
  }
  bool is_right() const { return std::abs(out[100] / std::exp(-1.0) - 1) < 1e-15; }

  static constexpr int kCount = 1024;
  std::int64_t calls;
  AlignedArray<double> in, out;
};

void count_exponentials(benchmark::State& state, const Problem& problem) {
  const double count = static_cast<double>(problem.actions) * kBlockRows * problem.times();
  state.counters["exp/s"] = count / state.counters["reference_s"];
  state.counters["softmax_exp/s"] = count / state.counters["subject_s"];
}

/// Scores by columns in, log-probabilities out.
void log_sum_exp_against_exp(benchmark::State& state) {
  const Problem problem(state.range(0), state.range(1));
  PlainExponentials plain(problem);
  PolicyScratch scratch;
  double* scores = scratch.columns(PolicyScratch::kCallerSlot, problem.actions + 1);
  double* out = scores + static_cast<std::int64_t>(problem.actions) * kBlockRows;
  PolicyScratch own;
  problem.target->scores(problem.block(), own, scores);
  measure_pair(
      state, [&] { plain.run(); },
      [&] {
        for (int t = 0; t < problem.times(); ++t) {
          softmax_log_probability(problem.block().category, scores, problem.actions, 0, out);
        }
      });
  if (!plain.is_right() || !problem.is_right(out)) state.SkipWithError("wrong logarithms");
  count_exponentials(state, problem);
}

/// Contexts in, log-probabilities out.
void log_density_against_exp(benchmark::State& state) {
  const Problem problem(state.range(0), state.range(1));
  PlainExponentials plain(problem);
  PolicyScratch scratch;
  double* out = scratch.columns(PolicyScratch::kCallerSlot, 1);
  measure_pair(
      state, [&] { plain.run(); },
      [&] {
        for (int t = 0; t < problem.times(); ++t) problem.target->log_density(problem.block(), scratch, out);
      });
  if (!plain.is_right() || !problem.is_right(out)) state.SkipWithError("wrong log-probabilities");
  count_exponentials(state, problem);
}

/// Contexts in, probabilities of all actions out, as learning needs them.
void gradient_against_exp(benchmark::State& state) {
  const Problem problem(state.range(0), state.range(1));
  PlainExponentials plain(problem);
  PolicyScratch scratch, own;
  double* scores = scratch.columns(PolicyScratch::kCallerSlot, problem.actions + 1);
  double* out = scores + static_cast<std::int64_t>(problem.actions) * kBlockRows;
  measure_pair(
      state, [&] { plain.run(); },
      [&] {
        for (int t = 0; t < problem.times(); ++t) {
          problem.target->scores(problem.block(), own, scores);
          softmax_gradient(problem.block().category, problem.actions, 0, scores, out);
        }
      });
  if (!plain.is_right() || !problem.is_right(out)) state.SkipWithError("wrong log-probabilities");
  count_exponentials(state, problem);
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {2, 10}, {10, 10}, {100, 10}, {4000, 10}, {10000, 10}, {100, 100}, {100, 2000}}) {
    benchmark->Args(shape);
  }
  benchmark->UseManualTime()->Iterations(21)->Unit(benchmark::kMillisecond);
}

BENCHMARK(log_sum_exp_against_exp)->Apply(shapes);
BENCHMARK(log_density_against_exp)->Apply(shapes);
BENCHMARK(gradient_against_exp)->Apply(shapes);

}  // namespace
}  // namespace scrm::bench
