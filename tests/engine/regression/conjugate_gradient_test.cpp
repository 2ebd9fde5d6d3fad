// labels: slow threads
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "regression/kernel_ridge/kernel_values.hpp"
#include "schedule/arena.hpp"
#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/file/error.hpp"
#include "support/heap.hpp"
#include "support/reference/kernel_fits.hpp"
#include "support/reference/kernel_reference.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

StateKernel bits(std::int64_t features, std::int64_t actions) {
  return {.kind = KernelKind::bits, .features = features, .actions = actions};
}

KernelRidge fitted(const StateKernel& kernel, double lambda, RidgeSolver solver, const RidgeRows& rows,
                   const std::vector<std::size_t>& batches) {
  return testing::fitted(ridge_with(kernel, lambda, solver), rows, batches);
}

/// Every context `times` times, each with the bits of a row of its own.
RidgeRows replayed(const StateKernel& kernel, std::int64_t contexts, std::int64_t times, std::uint64_t seed) {
  RidgeRows rows = ridge_rows(kernel, contexts * times, seed);
  for (std::int64_t i = 0; i < contexts * times; ++i) {
    const auto from = rows.states.begin() + i / times * times * kernel.state_size();
    std::copy_n(from, kernel.features, rows.states.begin() + i * kernel.state_size());
  }
  return rows;
}

std::vector<double> means(const KernelRidge& ridge, const RidgeRows& queries) {
  std::vector<double> out(queries.y.size());
  ridge.mean(queries.states, out);
  return out;
}

/// The weights themselves: what contexts of zeros, and those with one feature more, have for coefficients.
std::vector<double> weights(const KernelRidge& ridge, const StateKernel& kernel) {
  const std::int64_t d = kernel.features, count = 1 + d, terms = 1 + kernel.actions;
  std::vector<double> contexts(static_cast<std::size_t>(count * d), 0.0), out(static_cast<std::size_t>(count * terms));
  for (std::int64_t j = 0; j < d; ++j) contexts[static_cast<std::size_t>((1 + j) * d + j)] = 1;
  ridge.bit_coefficients(contexts, count, out);
  for (std::int64_t i = terms; i < count * terms; ++i) {
    out[static_cast<std::size_t>(i)] -= out[static_cast<std::size_t>(i % terms)];
  }
  return out;
}

RidgeSolver choice(const StateKernel& kernel, double lambda, std::int64_t rows) {
  KernelRidgeOptions options;
  options.kernel = kernel;
  options.lambda = lambda;
  options.expected_rows = rows;
  return KernelRidge::resolved(options).solver;
}

}  // namespace

TEST_CASE("conjugate gradients: means are the textbook's") {
  for (const StateKernel& kernel : {bits(3, 4), bits(0, 3), bits(5, 1), bits(0, 1)}) {
    for (const double lambda : {0.1, 1.0, 10.0, 100.0}) {
      for (const std::int64_t n : {1, 7, 160}) {
        CAPTURE(lambda);
        CAPTURE(n);
        RidgeRows rows = replayed(kernel, n, 2, 11);
        // Actions between the bits are as good as bits.
        rows.states[static_cast<std::size_t>(kernel.features)] = -1.5;
        const RidgeRows queries = ridge_rows(kernel, 40, 12);
        const KernelRidge ridge = fitted(kernel, lambda, RidgeSolver::conjugate_gradient, rows, {rows.y.size()});
        CHECK(difference(means(ridge, queries), textbook(kernel, lambda, rows, queries.states).mean) < 1e-9);
        CHECK(ridge.rows() == 2 * n);
        CHECK(ridge.trace_error() == 0);
      }
    }
  }
}

TEST_CASE(
    "conjugate gradients: the weights are those of the direct solve, with fewer rows than features and with more") {
  const StateKernel kernel = bits(30, 8);
  REQUIRE(feature_dimension(kernel) == 279);
  for (const std::int64_t contexts : {20, 70, 900}) {
    for (const double lambda : {0.1, 1.0, 100.0}) {
      CAPTURE(contexts);
      CAPTURE(lambda);
      RidgeRows rows = replayed(kernel, contexts, 4, 21);
      for (std::size_t i = 0; i < rows.y.size(); ++i) {
        // A feature a thousand times as long, one that is never there, one that repeats another; and a bit always set.
        double* s = rows.states.data() + i * 38;
        s[3] *= 1000;
        s[5] = 0;
        s[7] = s[8];
        s[31] = 1;
      }
      const KernelRidge found = fitted(kernel, lambda, RidgeSolver::conjugate_gradient, rows, {rows.y.size()});
      const KernelRidge truth = fitted(kernel, lambda, RidgeSolver::primal, rows, {rows.y.size()});
      CHECK(difference(weights(found, kernel), weights(truth, kernel)) < 1e-8);
      CHECK(difference(means(found, rows), means(truth, rows)) < 1e-8);
    }
  }
}

TEST_CASE("conjugate gradients: batch by batch is as good as at once") {
  const StateKernel kernel = bits(6, 5);
  const RidgeRows rows = replayed(kernel, 325, 4, 31), queries = ridge_rows(kernel, 50, 32);
  const std::vector<double> once = means(fitted(kernel, 2, RidgeSolver::conjugate_gradient, rows, {1300}), queries);
  const std::vector<double> parts =
      means(fitted(kernel, 2, RidgeSolver::conjugate_gradient, rows, {1, 0, 99, 1, 511, 688}), queries);
  CHECK(difference(once, parts) < 1e-11);
  CHECK(once != means(fitted(kernel, 2, RidgeSolver::conjugate_gradient, rows, {1299}), queries));
}

TEST_CASE("conjugate gradients: answers of zero, and no rows, have weights of zero") {
  const StateKernel kernel = bits(2, 3);
  RidgeRows rows = ridge_rows(kernel, 20, 1);
  const RidgeRows queries = ridge_rows(kernel, 9, 2);
  CHECK(means(fitted(kernel, 1, RidgeSolver::conjugate_gradient, rows, {0}), queries) == std::vector<double>(9, 0.0));
  rows.y.assign(20, 0.0);
  CHECK(means(fitted(kernel, 1, RidgeSolver::conjugate_gradient, rows, {20}), queries) == std::vector<double>(9, 0.0));
}

TEST_CASE("conjugate gradients: answers that overflow are an error") {
  const StateKernel kernel = bits(2, 3);
  RidgeRows rows = ridge_rows(kernel, 20, 1);
  for (double& y : rows.y) y *= 1e300;
  CHECK_THROWS_WITH_AS(fitted(kernel, 1, RidgeSolver::conjugate_gradient, rows, {20}), doctest::Contains("scale them"),
                       Error);
}

TEST_CASE("conjugate gradients: the same bits on 1, 2 and 5 threads") {
  const StateKernel kernel = bits(12, 6);
  // More groups of contexts than are summed up at once.
  const RidgeRows rows = replayed(kernel, 18'000, 2, 81), queries = ridge_rows(kernel, 600, 82);
  const auto run = [&](int threads) {
    std::vector<double> out;
    in_arena(threads, [&] {
      out = means(fitted(kernel, 1, RidgeSolver::conjugate_gradient, rows, {2001, 33'999}), queries);
    });
    return out;
  };
  const std::vector<double> one = run(1);
  CHECK(run(2) == one);
  CHECK(run(5) == one);
  CHECK(difference(one, means(fitted(kernel, 1, RidgeSolver::primal, rows, {36'000}), queries)) < 1e-9);
}

TEST_CASE("conjugate gradients: is chosen where widths would cost too much, and has none") {
  CHECK(choice(bits(500, 22), 1, 76'640) == RidgeSolver::conjugate_gradient);
  CHECK(choice(bits(500, 22), 0, 76'640) == RidgeSolver::primal);
  CHECK(choice(bits(500, 22), 1, 3000) == RidgeSolver::inducing_points);
  CHECK(choice(bits(294, 6), 1, 76'640) == RidgeSolver::primal);
  const StateKernel kernel = bits(2, 3);
  const RidgeRows rows = ridge_rows(kernel, 20, 1);
  const KernelRidge ridge = fitted(kernel, 1, RidgeSolver::conjugate_gradient, rows, {20});
  std::vector<double> out(20);
  CHECK_THROWS_WITH_AS(ridge.mean_and_width(rows.states, out, out), doctest::Contains("use the primal"), Error);
  CHECK_THROWS_WITH_AS(fitted(kernel, 0, RidgeSolver::conjugate_gradient, rows, {20}), doctest::Contains("above zero"),
                       Error);
  CHECK_THROWS_WITH_AS(fitted({.kind = KernelKind::linear}, 1, RidgeSolver::conjugate_gradient, {}, {0}),
                       doctest::Contains("conjugate gradients are for the bits kernel with a lambda above zero"),
                       Error);
}

TEST_CASE("conjugate gradients: holds no more than it said it would, and of replays one context") {
  const StateKernel kernel = bits(40, 6);
  const RidgeRows rows = replayed(kernel, 500, 4, 3);
  KernelRidgeOptions options;
  options.kernel = kernel;
  options.solver = RidgeSolver::conjugate_gradient;
  const auto fit = [&] { return fitted(kernel, 1, RidgeSolver::conjugate_gradient, rows, {1000, 1000}); };
  fit();  // what threads and libraries take once is there already
  const std::size_t before = heap_bytes();
  const KernelRidge ridge = fit();
  const std::size_t held = heap_bytes() - before;
  CHECK(held <= KernelRidge::bytes_needed(options, 2000));
  CHECK(held < 2000 * 40 * sizeof(double));
  if (before > 0) CHECK(held > 500 * 40 * sizeof(double));
}
