/// Kernel ridge: the cost of fitting batches that double against the number of rows, and of questions afterwards.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "regression/kernel_ridge/kernel_values.hpp"
#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm::bench {
namespace {

constexpr std::int64_t kFeatures = 10, kWidth = kFeatures + 1, kFirstBatch = 100;
constexpr std::size_t kContexts = 10'000, kGrid = 19;

struct Rows {
  std::vector<double> states, y;
};

/// Contexts on [1, 2], an action around their mean, and the profit of a price: the pricing environment in small.
Rows rows(std::int64_t n, std::uint32_t stream) {
  Rows out;
  for (std::int64_t i = 0; i < n; ++i) {
    RandomStream random(1, stream, static_cast<std::uint64_t>(i));
    double mean = 0;
    for (std::int64_t j = 0; j < kFeatures; ++j) {
      out.states.push_back(1 + random.uniform());
      mean += j < 3 ? out.states.back() / 3 : 0.0;
    }
    const double a = mean + random.normal();
    out.states.push_back(a);
    out.y.push_back(a * (2 * mean * mean - 0.6 * mean * a) + random.normal());
  }
  return out;
}

/// Contexts of kBitFeatures numbers, kBits random bits, and a reward for each bit that depends on the context.
constexpr std::int64_t kBitFeatures = 20, kBits = 8;
Rows bit_rows(std::int64_t n, std::uint32_t stream) {
  Rows out;
  for (std::int64_t i = 0; i < n; ++i) {
    RandomStream random(2, stream, static_cast<std::uint64_t>(i));
    double y = random.normal();
    for (std::int64_t j = 0; j < kBitFeatures; ++j) out.states.push_back(random.normal());
    const std::size_t context = out.states.size() - kBitFeatures;
    for (std::int64_t k = 0; k < kBits; ++k) {
      out.states.push_back(random.uniform() < 0.5 ? 1.0 : 0.0);
      y += out.states.back() * out.states[context + static_cast<std::size_t>(k)];
    }
    out.y.push_back(y);
  }
  return out;
}

using MakeRows = Rows (*)(std::int64_t n, std::uint32_t stream);

KernelRidgeOptions options(KernelKind kind, RidgeSolver solver, std::optional<std::int64_t> points = 500) {
  limit_openblas_to_one_thread();
  KernelRidgeOptions out;
  out.kernel = {.kind = kind, .features = kFeatures, .degree = 2, .length = 3.0};
  out.lambda = 10;
  out.solver = solver;
  out.points = points;
  return out;
}

KernelRidge fit(const KernelRidgeOptions& how, const Rows& data) {
  KernelRidge ridge(how);
  const std::span<const double> states(data.states), y(data.y);
  const auto width = static_cast<std::size_t>(how.kernel.state_size());
  for (std::size_t first = 0, batch = kFirstBatch; first < y.size(); batch *= 2) {
    const std::size_t n = std::min(batch, y.size() - first);
    ridge.add(states.subspan(first * width, n * width), y.subspan(first, n));
    first += n;
  }
  return ridge;
}

/// The ridge's residuals over λ are its coefficients: mean(q) = Σ_i (y_i − mean(s_i)) k(s_i, q)/λ.
bool solves(const KernelRidge& ridge, const KernelRidgeOptions& how, const Rows& data, MakeRows make,
            double tolerance) {
  constexpr int kQueries = 5;
  const Rows queries = make(kQueries, 7);
  std::vector<double> fitted(data.y.size()), mean(kQueries), column(data.y.size());
  ridge.mean(data.states, fitted);
  ridge.mean(queries.states, mean);
  for (std::size_t q = 0; q < kQueries; ++q) {
    const auto n = static_cast<int>(data.y.size());
    const double* query = queries.states.data() + static_cast<std::int64_t>(q) * how.kernel.state_size();
    const std::int64_t size = how.kernel.state_size();
    kernel_values(how.kernel, Eigen::Map<const Eigen::MatrixXd>(data.states.data(), size, n),
                  Eigen::Map<const Eigen::MatrixXd>(query, size, 1), Eigen::Map<Eigen::MatrixXd>(column.data(), n, 1));
    double sum = 0, scale = 0;
    for (std::size_t i = 0; i < column.size(); ++i) {
      const double term = (data.y[i] - fitted[i]) * column[i] / how.lambda;
      sum += term;
      scale += std::abs(term);
    }
    if (!(std::abs(sum - mean[q]) <= tolerance * scale)) return false;
  }
  return true;
}

void fit_batches(benchmark::State& state, const KernelRidgeOptions& how, double tolerance, MakeRows make = rows) {
  const Rows data = make(state.range(0), 0);
  for (auto _ : state) benchmark::DoNotOptimize(fit(how, data).rows());
  const KernelRidge ridge = fit(how, data);
  if (!solves(ridge, how, data, make, tolerance)) state.SkipWithError("the fit does not solve its equations");
  state.counters["dimension"] = static_cast<double>(ridge.dimension());
  state.counters["MB"] = static_cast<double>(KernelRidge::bytes_needed(how, state.range(0))) * 1e-6;
  state.counters["trace_error"] = ridge.trace_error();
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
  state.SetComplexityN(state.range(0));
}

void primal_fit(benchmark::State& state) {
  fit_batches(state, options(KernelKind::polynomial, RidgeSolver::primal), 1e-10);
}

void all_points_fit(benchmark::State& state) {
  fit_batches(state, options(KernelKind::gaussian, RidgeSolver::inducing_points, std::nullopt), 1e-10);
}

// What 500 points miss of the kernel shows in the equations, in proportion to the trace error.
void inducing_points_fit(benchmark::State& state) {
  fit_batches(state, options(KernelKind::gaussian, RidgeSolver::inducing_points), 1e-3);
}

// Fewer points than the 66 squares and products of the contexts, so that there is something to approximate.
void powers_fit(benchmark::State& state) {
  KernelRidgeOptions how = options(KernelKind::polynomial, RidgeSolver::inducing_points);
  how.points = 60;
  fit_batches(state, how, 1e-2);
}

void conjugate_gradient_fit(benchmark::State& state) {
  KernelRidgeOptions how = options(KernelKind::bits, RidgeSolver::conjugate_gradient);
  how.kernel.features = kBitFeatures;
  how.kernel.actions = kBits;
  fit_batches(state, how, 1e-9, bit_rows);
}

/// A grid of actions for every context, as a batch bandit asks.
void grid_questions(benchmark::State& state, const KernelRidgeOptions& how, std::size_t count) {
  const KernelRidge ridge = fit(how, rows(3200, 0));
  const Rows contexts = rows(static_cast<std::int64_t>(count), 3);
  std::vector<double> states;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t g = 0; g < kGrid; ++g) {
      const auto begin = contexts.states.begin() + static_cast<std::ptrdiff_t>(i * kWidth);
      states.insert(states.end(), begin, begin + kFeatures);
      states.push_back(-5 + 0.5 * static_cast<double>(g));
    }
  }
  std::vector<double> mean(count * kGrid), width(mean.size()), one(1), one_width(1);
  for (auto _ : state) ridge.mean_and_width(states, mean, width);
  for (std::size_t i = 0; i < mean.size(); i += 9973) {
    ridge.mean_and_width(std::span(states).subspan(i * kWidth, kWidth), one, one_width);
    if (std::abs(one[0] - mean[i]) > 1e-9 * (1 + std::abs(mean[i])) || std::abs(one_width[0] - width[i]) > 1e-8)
      state.SkipWithError("a question alone has another answer");
  }
  state.counters["states/s"] =
      benchmark::Counter(static_cast<double>(mean.size()), benchmark::Counter::kIsIterationInvariantRate);
}

void primal_questions(benchmark::State& state) {
  grid_questions(state, options(KernelKind::polynomial, RidgeSolver::primal), kContexts);
}

// Every question reads the whole factor: a tenth of the contexts will do.
void all_points_questions(benchmark::State& state) {
  grid_questions(state, options(KernelKind::gaussian, RidgeSolver::inducing_points, std::nullopt), kContexts / 10);
}

void inducing_points_questions(benchmark::State& state) {
  grid_questions(state, options(KernelKind::gaussian, RidgeSolver::inducing_points), kContexts);
}

std::vector<double> contexts_of(const Rows& rows) {
  std::vector<double> contexts;
  for (std::int64_t i = 0; i < std::int64_t{kContexts}; ++i)
    contexts.insert(contexts.end(), rows.states.begin() + i * kWidth, rows.states.begin() + i * kWidth + kFeatures);
  return contexts;
}

void action_polynomials(benchmark::State& state) {
  const KernelRidge ridge = fit(options(KernelKind::polynomial, RidgeSolver::primal), rows(3200, 0));
  const Rows queries = rows(kContexts, 3);
  const std::vector<double> contexts = contexts_of(queries);
  std::vector<double> means(kContexts * 3), squares(kContexts * 5), mean(kContexts), width(kContexts);
  for (auto _ : state) ridge.action_polynomials(contexts, kContexts, means, squares);
  ridge.mean_and_width(queries.states, mean, width);
  for (std::size_t i = 0; i < kContexts; ++i) {
    const double t = queries.states[i * kWidth + kFeatures], *m = means.data() + 3 * i, *s = squares.data() + 5 * i;
    const double square = s[0] + t * (s[1] + t * (s[2] + t * (s[3] + t * s[4])));
    if (std::abs(m[0] + t * (m[1] + t * m[2]) - mean[i]) > 1e-8 || std::abs(square - width[i] * width[i]) > 1e-9)
      state.SkipWithError("the polynomials are not the mean and the width");
  }
  state.counters["contexts/s"] =
      benchmark::Counter(static_cast<double>(kContexts), benchmark::Counter::kIsIterationInvariantRate);
}

/// The best of 2^22 actions, as many as 22 labels have, for every context.
void best_of_four_million(benchmark::State& state) {
  const ActionGrid grid{-5, 10.0 / (1 << 22), std::int64_t{1} << 22};
  const KernelRidge ridge = fit(options(KernelKind::polynomial, RidgeSolver::primal), rows(3200, 0));
  const Rows queries = rows(kContexts, 3);
  const std::vector<double> contexts = contexts_of(queries);
  std::vector<double> means(kContexts * 3), squares(kContexts * 5);
  ridge.action_polynomials(contexts, kContexts, means, squares);
  constexpr double kBeta = 3;
  std::vector<BestAction> best(kContexts);
  for (auto _ : state) best_actions(means, squares, kBeta, grid, best);
  for (std::size_t i = 0; i < kContexts; i += 1000) {
    const double *m = means.data() + 3 * i, *s = squares.data() + 5 * i;
    double most = -INFINITY;
    for (std::int64_t a = 0; a < grid.count; ++a) {
      const double t = grid.action(a), square = s[0] + t * (s[1] + t * (s[2] + t * (s[3] + t * s[4])));
      most = std::max(most, m[0] + t * (m[1] + t * m[2]) + kBeta * std::sqrt(std::max(square, 0.0)));
    }
    if (std::abs(best[i].value - most) > 1e-10 * std::abs(most)) state.SkipWithError("a better action was missed");
  }
  state.counters["contexts/s"] =
      benchmark::Counter(static_cast<double>(kContexts), benchmark::Counter::kIsIterationInvariantRate);
}

void to_the_sizes_of_the_paper(benchmark::internal::Benchmark* benchmark) {
  benchmark->RangeMultiplier(8)->Range(100, 204'800)->Unit(benchmark::kMillisecond)->UseRealTime();
  benchmark->Complexity(benchmark::oN);
}

BENCHMARK(primal_fit)->Apply(to_the_sizes_of_the_paper);
BENCHMARK(inducing_points_fit)->Apply(to_the_sizes_of_the_paper);
BENCHMARK(powers_fit)->Apply(to_the_sizes_of_the_paper);
BENCHMARK(conjugate_gradient_fit)->Apply(to_the_sizes_of_the_paper);
BENCHMARK(all_points_fit)
    ->RangeMultiplier(2)
    ->Range(100, 3200)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Complexity(benchmark::oNCubed);
BENCHMARK(primal_questions)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(all_points_questions)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(inducing_points_questions)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(action_polynomials)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(best_of_four_million)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace scrm::bench
