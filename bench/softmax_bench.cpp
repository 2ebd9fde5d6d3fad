/// Probabilities of one action among many, on one core: what an exponential of a softmax costs beside a plain vector
/// exponential, what evaluation costs from contexts to weights, and a gradient beside the matrix products that it is
/// made of. Arguments: actions, features.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "policy/score_matrix.hpp"
#include "policy/score_tiles.hpp"
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

/// What a gradient with two factors is made of, by DGEMM on a whole block: scores twice, and two products of
/// derivatives with contexts. No exponentials.
struct PlainProducts {
  explicit PlainProducts(const Problem& problem)
      : actions(problem.actions),
        width(1 + static_cast<int>(problem.schema.features)),
        theta(problem.policy.theta),
        contexts(static_cast<std::size_t>(width) * kBlockRows, 1.0),
        scores(static_cast<std::size_t>(actions) * kBlockRows),
        gradient(theta.size()) {
    const auto* x = static_cast<const double*>(problem.block().context);
    std::copy_n(x, problem.schema.features * kBlockRows, contexts.begin() + kBlockRows);
  }
  void run() {
    for (int times = 0; times < 2; ++times) {
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, kBlockRows, actions, width, 1.0, contexts.data(),
                  kBlockRows, theta.data(), width, 0.0, scores.data(), kBlockRows);
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, width, actions, kBlockRows, 1.0, contexts.data(), kBlockRows,
                  scores.data(), kBlockRows, 0.0, gradient.data(), width);
    }
    benchmark::ClobberMemory();
  }
  double flops() const { return 4.0 * 2 * kBlockRows * static_cast<double>(actions) * width; }

  /// A few numbers of the gradient with factor f, from the scores above.
  bool is_right(const Block& block, const double* f, const double* found) const {
    const auto score = [this](int i, int k) {
      return scores[static_cast<std::size_t>(k) * kBlockRows + static_cast<std::size_t>(i)];
    };
    std::vector<long double> sum(kBlockRows);
    for (int i = 0; i < kBlockRows; ++i) {
      for (int k = 0; k < actions; ++k) sum[static_cast<std::size_t>(i)] += std::exp(score(i, k));
    }
    for (int n = 0; n < 20; ++n) {
      const int k = static_cast<int>((7919LL * n + block.category[n]) % actions), j = (31 * n) % width;
      long double expected = 0, size = 0;
      for (int i = 0; i < kBlockRows; ++i) {
        const long double p = std::exp(score(i, k)) / sum[static_cast<std::size_t>(i)];
        const long double term = f[i] * ((block.category[i] == k ? 1 : 0) - p) *
                                 contexts[static_cast<std::size_t>(j) * kBlockRows + static_cast<std::size_t>(i)];
        expected += term;
        size += std::abs(term);
      }
      if (std::abs(found[static_cast<std::int64_t>(k) * width + j] - expected) > 1e-12 * size) return false;
    }
    return true;
  }

  int actions, width;
  std::vector<double> theta, contexts, scores, gradient;
};

/// Contexts in, two gradients out. Reference: the same products by DGEMM.
void policy_gradient_against_dgemm(benchmark::State& state) {
  const Problem problem(state.range(0), state.range(1));
  PlainProducts plain(problem);
  const ScoreMatrix matrix(problem.policy, problem.schema);
  const auto column = [](double first, double step) {
    AlignedArray<double> out = make_aligned<double>(kBlockRows);
    for (int i = 0; i < kBlockRows; ++i) out[static_cast<std::size_t>(i)] = first + step * (i % 100);
    return out;
  };
  const AlignedArray<double> f = column(-1, 0.03), g = column(2, -0.01), weights = make_aligned<double>(kBlockRows);
  std::vector<double> first(problem.policy.theta.size()), second(first.size());
  const std::vector<TiledFactor> factors{{f.get(), first.data()}, {g.get(), second.data()}};
  PolicyScratch scratch;
  TileStates states;
  measure_pair(
      state, [&] { plain.run(); },
      [&] {
        tiled_weights(matrix, problem.block(), states, weights.get());
        tiled_gradient(matrix, problem.block(), states, factors, scratch);
      });
  if (!plain.is_right(problem.block(), f.get(), first.data()) ||
      !plain.is_right(problem.block(), g.get(), second.data())) {
    state.SkipWithError("wrong gradient");
  }
  state.counters["dgemm_GFlop/s"] = plain.flops() * 1e-9 / state.counters["reference_s"];
  state.counters["GFlop/s"] = plain.flops() * 1e-9 / state.counters["subject_s"];
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
BENCHMARK(policy_gradient_against_dgemm)
    ->Args({100, 10})
    ->Args({1000, 100})
    ->Args({10000, 100})
    ->UseManualTime()
    ->Iterations(7)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace scrm::bench
