/// Scores and gradients of a few outputs straight from a block, against OpenBLAS on the same columns, on one core.
/// Arguments: features, outputs, replays of a context.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/kernels/scores/context_matrix.hpp"
#include "scrm/kernels/vector/random.hpp"
#include "shared/paired.hpp"

namespace scrm::bench {
namespace {

struct Problem {
  explicit Problem(const benchmark::State& state)
      : features(static_cast<int>(state.range(0))), outputs(static_cast<int>(state.range(1))) {
    limit_openblas_to_one_thread();
    Schema schema;
    schema.action_kind = ActionKind::multilabel;
    schema.num_actions = outputs;
    schema.features = features;
    schema.replays = static_cast<int>(state.range(2));
    buffer = std::make_unique<BlockBuffer>(schema);
    contexts = kBlockRows / schema.replays;
    RandomStream random(5, 0, 0);
    for (int i = 0; i < features * buffer->context_stride(); ++i) buffer->context_f64()[i] = random.normal();
    for (int i = 0; i < outputs * (1 + features); ++i) theta.push_back(random.normal());
    x = context_matrix(buffer->view(0, kBlockRows));
    // As often as makes a millisecond or so.
    times = std::max(1, static_cast<int>(2e7 / (2.0 * contexts * features * outputs)));
  }

  const double* columns() const { return static_cast<const double*>(x.data); }
  int stride() const { return static_cast<int>(x.stride); }

  int features, outputs, contexts = 0, times = 1;
  std::unique_ptr<BlockBuffer> buffer;
  std::vector<double> theta;
  ContextMatrix x;
};

struct alignas(kColumnAlignment) Column {
  double values[kBlockRows];
};

bool near(const double* a, const double* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::abs(a[i] - b[i]) > 1e-9 * (1 + std::abs(b[i]))) return false;
  }
  return true;
}

void scores(benchmark::State& state) {
  const Problem p(state);
  std::vector<Column> ours(static_cast<std::size_t>(p.outputs)), theirs(ours.size());
  const auto reference = [&] {
    for (int t = 0; t < p.times; ++t) {
      for (int k = 0; k < p.outputs; ++k) {
        std::fill_n(theirs[static_cast<std::size_t>(k)].values, p.contexts,
                    p.theta[static_cast<std::size_t>(k * (1 + p.features))]);
      }
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, p.contexts, p.outputs, p.features, 1.0, p.columns(),
                  p.stride(), p.theta.data() + 1, 1 + p.features, 1.0, theirs[0].values, kBlockRows);
    }
  };
  const auto subject = [&] {
    for (int t = 0; t < p.times; ++t) context_scores(p.x, p.theta.data(), p.outputs, ours[0].values);
  };
  measure_pair(state, reference, subject);
  for (std::size_t k = 0; k < ours.size(); ++k) {
    if (!near(ours[k].values, theirs[k].values, static_cast<std::size_t>(p.contexts))) {
      state.SkipWithError("wrong scores");
    }
  }
}

void products(benchmark::State& state) {
  const Problem p(state);
  std::vector<Column> coefficients(static_cast<std::size_t>(p.outputs));
  RandomStream random(7, 0, 0);
  for (Column& column : coefficients) std::generate_n(column.values, p.contexts, [&] { return random.normal(); });
  std::vector<double> ours(p.theta.size()), theirs(p.theta.size());
  const auto reference = [&] {
    for (int t = 0; t < p.times; ++t) {
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, p.features, p.outputs, p.contexts, 1.0, p.columns(),
                  p.stride(), coefficients[0].values, kBlockRows, 0.0, theirs.data() + 1, 1 + p.features);
    }
  };
  const auto subject = [&] {
    for (int t = 0; t < p.times; ++t) {
      context_products(p.x, coefficients[0].values, p.outputs, ours.data() + 1, 1 + p.features);
    }
  };
  measure_pair(state, reference, subject);
  if (!near(ours.data(), theirs.data(), ours.size())) state.SkipWithError("wrong products");
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {10, 2, 1}, {10, 6, 1}, {100, 3, 1}, {294, 6, 4}, {103, 14, 4}, {500, 22, 4}, {500, 22, 1}, {2000, 64, 1}}) {
    benchmark->Args(shape);
  }
  benchmark->UseManualTime()->Iterations(51)->Unit(benchmark::kMillisecond);
}

BENCHMARK(scores)->Apply(shapes);
BENCHMARK(products)->Apply(shapes);

}  // namespace
}  // namespace scrm::bench
