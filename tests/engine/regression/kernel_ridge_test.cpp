// labels: slow threads
#include "scrm/engine/regression/kernel_ridge.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "regression/kernel_ridge/kernel_values.hpp"
#include "schedule/arena.hpp"
#include "scrm/io/file/error.hpp"
#include "support/reference/dual_ridge.hpp"
#include "support/reference/kernel_fits.hpp"
#include "support/reference/kernel_reference.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::vector<StateKernel> kernels() {
  return {{.kind = KernelKind::linear, .features = 4},
          {.kind = KernelKind::polynomial, .features = 3, .degree = 2},
          {.kind = KernelKind::polynomial, .features = 2, .degree = 3},
          {.kind = KernelKind::polynomial, .features = 0, .degree = 2},
          {.kind = KernelKind::bits, .features = 3, .actions = 4},
          {.kind = KernelKind::gaussian, .features = 2, .length = 0.7}};
}

std::vector<RidgeSolver> exact_solvers(const StateKernel& kernel) {
  if (kernel.kind == KernelKind::gaussian) return {RidgeSolver::inducing_points};
  return {RidgeSolver::primal, RidgeSolver::inducing_points};
}

KernelRidgeOptions with(const StateKernel& kernel, double lambda, RidgeSolver solver) {
  return ridge_with(kernel, lambda, solver, std::nullopt);
}

}  // namespace

TEST_CASE("kernel ridge: mean and width are the textbook's, by every exact solver") {
  for (const StateKernel& kernel : kernels()) {
    for (const double lambda : {1.0, 10.0, 100.0}) {
      for (const std::int64_t n : {1, 7, 160}) {
        const RidgeRows rows = ridge_rows(kernel, n, 11), queries = ridge_rows(kernel, 40, 12);
        const RidgeAnswers truth = textbook(kernel, lambda, rows, queries.states);
        for (const RidgeSolver solver : exact_solvers(kernel)) {
          CAPTURE(static_cast<int>(solver));
          const KernelRidge ridge = fitted(with(kernel, lambda, solver), rows, {rows.y.size()});
          const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
          CHECK(difference(found.mean, truth.mean) < 1e-9);
          CHECK(difference(found.width, truth.width) < 1e-9);
          CHECK(ridge.rows() == n);
          CHECK(ridge.trace_error() == 0);
        }
      }
    }
  }
}

TEST_CASE("kernel ridge: without lambda the mean is that of the shortest solution") {
  for (const StateKernel& kernel : kernels()) {
    for (const std::int64_t n : {1, 5, 90}) {
      // Gaussian matrices lose their digits where states crowd; a few of them far apart do not.
      if (kernel.kind == KernelKind::gaussian && n > 5) continue;
      const RidgeRows rows = ridge_rows(kernel, n, 21), queries = ridge_rows(kernel, 30, 22);
      const RidgeAnswers truth = textbook(kernel, 0, rows, queries.states);
      for (const RidgeSolver solver : exact_solvers(kernel)) {
        CAPTURE(static_cast<int>(solver));
        CAPTURE(n);
        const KernelRidge ridge = fitted(with(kernel, 0, solver), rows, {rows.y.size()});
        const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
        CHECK(difference(found.mean, truth.mean) < 1e-8);
        CHECK(found.width == std::vector<double>(30, 0.0));
      }
    }
  }
}

TEST_CASE("kernel ridge: without lambda a context counts even beside an action of millions") {
  const StateKernel kernel{.kind = KernelKind::linear, .features = 3};
  RidgeRows rows = ridge_rows(kernel, 400, 5);
  for (std::size_t i = 0; i < 400; ++i) {
    double* s = rows.states.data() + 4 * i;
    s[3] = 1e6 * (s[3] + 2);
    rows.y[i] = 2 + s[0] - 3 * s[1] + 0.5 * s[2] + 1e-6 * s[3];
  }
  const KernelRidge ridge = fitted(with(kernel, 0, RidgeSolver::primal), rows, {400});
  std::vector<double> mean(400);
  ridge.mean(rows.states, mean);
  CHECK(difference(mean, rows.y) < 1e-9);
}

TEST_CASE("kernel ridge: features that never vary, or repeat, take nothing from the answer") {
  const StateKernel kernel{.kind = KernelKind::linear, .features = 4};
  RidgeRows rows = ridge_rows(kernel, 60, 9);
  for (std::size_t i = 0; i < 60; ++i) {
    double* s = rows.states.data() + 5 * i;
    s[1] = 0;
    s[2] = s[0];
  }
  const RidgeAnswers truth = textbook(kernel, 0, rows, rows.states);
  for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
    const KernelRidge ridge = fitted(with(kernel, 0, solver), rows, {60});
    CHECK(difference(answers(ridge, rows.states, 5).mean, truth.mean) < 1e-9);
  }
}

TEST_CASE("kernel ridge: batch by batch is as good as at once") {
  for (const StateKernel& kernel : kernels()) {
    const RidgeRows rows = ridge_rows(kernel, 1300, 31), queries = ridge_rows(kernel, 50, 32);
    for (const RidgeSolver solver : exact_solvers(kernel)) {
      const KernelRidgeOptions options = with(kernel, 2.0, solver);
      const RidgeAnswers once = answers(fitted(options, rows, {1300}), queries.states, kernel.state_size());
      const RidgeAnswers parts =
          answers(fitted(options, rows, {1, 0, 99, 1, 511, 688}), queries.states, kernel.state_size());
      CHECK(difference(once.mean, parts.mean) < 1e-10);
      CHECK(difference(once.width, parts.width) < 1e-10);
    }
  }
}

TEST_CASE("kernel ridge: every exact solver agrees with the dual on many rows") {
  for (const StateKernel& kernel : kernels()) {
    const RidgeRows rows = ridge_rows(kernel, 1100, 41), queries = ridge_rows(kernel, 700, 42);
    const RidgeAnswers dual = dual_ridge(kernel, 5, rows, queries.states);
    for (const RidgeSolver solver : exact_solvers(kernel)) {
      CAPTURE(static_cast<int>(solver));
      const KernelRidge ridge = fitted(with(kernel, 5, solver), rows, {300, 800});
      const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
      CHECK(difference(found.mean, dual.mean) < 1e-9);
      CHECK(difference(found.width, dual.width) < 1e-8);
      CHECK(ridge.trace_error() == 0);
    }
  }
}

TEST_CASE("kernel ridge: wide feature maps, summed up tile by tile, and all contexts as points agree with the dual") {
  const StateKernel kernel{.kind = KernelKind::polynomial, .features = 33, .degree = 2};
  REQUIRE(feature_dimension(kernel) == 630);
  const RidgeRows rows = ridge_rows(kernel, 300, 51), queries = ridge_rows(kernel, 33, 52);
  const RidgeAnswers dual = dual_ridge(kernel, 10, rows, queries.states);
  for (const RidgeSolver solver : exact_solvers(kernel)) {
    KernelRidgeOptions options = with(kernel, 10, solver);
    options.expected_rows = 300;
    const KernelRidge ridge = fitted(options, rows, {100, 200});
    CHECK(ridge.dimension() == (solver == RidgeSolver::primal ? 630 : 300 + 34 + 1));
    const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
    CHECK(difference(found.mean, dual.mean) < 1e-9);
    CHECK(difference(found.width, dual.width) < 1e-9);
  }
}

TEST_CASE("kernel ridge: the shortest solution of wide feature maps, with fewer rows than features and with more") {
  const StateKernel kernel{.kind = KernelKind::polynomial, .features = 22, .degree = 2};
  REQUIRE(feature_dimension(kernel) == 300);
  for (const std::int64_t n : {0, 1, 40, 120, 500}) {
    RidgeRows rows = ridge_rows(kernel, n, 91);
    const RidgeRows queries = ridge_rows(kernel, 33, 92);
    // Features 3 and 7 repeat others, and feature 5 is never there.
    for (std::int64_t i = 0; i < n; ++i) {
      double* s = rows.states.data() + i * kernel.state_size();
      s[3] = s[2];
      s[7] = 2 * s[6];
      s[5] = 0;
    }
    const KernelRidge primal = fitted(with(kernel, 0, RidgeSolver::primal), rows, {rows.y.size()});
    const std::vector<double> found = answers(primal, queries.states, kernel.state_size()).mean;
    CAPTURE(n);
    CHECK(difference(found, dual_ridge(kernel, 0, rows, queries.states).mean) < 1e-8);
    if (n <= 120) CHECK(difference(found, textbook(kernel, 0, rows, queries.states).mean) < 1e-8);
  }
}

TEST_CASE("kernel ridge: without lambda wide features that no others make up have one solution") {
  const StateKernel kernel{.kind = KernelKind::polynomial, .features = 22, .degree = 2};
  RidgeRows rows = ridge_rows(kernel, 500, 93);
  const RidgeRows queries = ridge_rows(kernel, 33, 94);
  // Feature 5, and with it 24 of the 300, is never there.
  for (std::size_t i = 0; i < 500; ++i) rows.states[23 * i + 5] = 0;
  const KernelRidge primal = fitted(with(kernel, 0, RidgeSolver::primal), rows, {200, 300});
  const RidgeAnswers dual = dual_ridge(kernel, 0, rows, queries.states);
  CHECK(difference(answers(primal, queries.states, 23).mean, dual.mean) < 1e-8);
}

TEST_CASE("kernel ridge: a row that repeats the one before it counts again") {
  for (const StateKernel& kernel : kernels()) {
    RidgeRows rows = ridge_rows(kernel, 90, 96);
    const RidgeRows queries = ridge_rows(kernel, 20, 97);
    for (std::int64_t i = 0; i < 90; ++i) {
      if (i % 5 == 0) continue;
      std::copy_n(rows.states.begin() + i / 5 * 5 * kernel.state_size(), kernel.state_size(),
                  rows.states.begin() + i * kernel.state_size());
    }
    const RidgeAnswers truth = textbook(kernel, 2, rows, queries.states);
    for (const RidgeSolver solver : exact_solvers(kernel)) {
      const RidgeAnswers found =
          answers(fitted(with(kernel, 2, solver), rows, {48, 42}), queries.states, kernel.state_size());
      CHECK(difference(found.mean, truth.mean) < 1e-9);
      CHECK(difference(found.width, truth.width) < 1e-9);
    }
  }
}

TEST_CASE("kernel ridge: actions between the bits are as good as bits") {
  const StateKernel kernel{.kind = KernelKind::bits, .features = 2, .actions = 3};
  RidgeRows rows = ridge_rows(kernel, 90, 95);
  rows.states[2] = 0.5;
  rows.states[8] = -3;
  const RidgeAnswers truth = textbook(kernel, 1, rows, rows.states);
  const RidgeAnswers found = answers(fitted(with(kernel, 1, RidgeSolver::primal), rows, {40, 50}), rows.states, 5);
  CHECK(difference(found.mean, truth.mean) < 1e-9);
  CHECK(difference(found.width, truth.width) < 1e-9);
}

TEST_CASE("kernel ridge: before any row the mean is zero and the width the kernel's own") {
  for (const StateKernel& kernel : kernels()) {
    const RidgeRows queries = ridge_rows(kernel, 5, 3);
    for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
      if (solver == RidgeSolver::primal && kernel.kind == KernelKind::gaussian) continue;
      for (const double lambda : {0.0, 4.0}) {
        const KernelRidge ridge = fitted(with(kernel, lambda, solver), {}, {0});
        const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
        for (std::size_t i = 0; i < 5; ++i) {
          const double* s = queries.states.data() + static_cast<std::int64_t>(i) * kernel.state_size();
          const auto own = static_cast<double>(std::sqrt(kernel_value(kernel, s, s)));
          CHECK(found.mean[i] == 0);
          CHECK(found.width[i] == doctest::Approx(lambda > 0 ? own / 2 : 0.0).epsilon(1e-12));
        }
      }
    }
  }
}

TEST_CASE("action polynomials: give mean and squared width at any action, by every solver") {
  for (const StateKernel& kernel : kernels()) {
    const int p = kernel.power();
    if (p == 0) continue;
    const std::int64_t w = kernel.state_size(), last = w - 1, count = 300;
    const RidgeRows rows = ridge_rows(kernel, 120, 61), queries = ridge_rows(kernel, count, 62);
    std::vector<double> contexts;
    for (std::int64_t i = 0; i < count; ++i)
      contexts.insert(contexts.end(), queries.states.begin() + i * w, queries.states.begin() + i * w + last);
    for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
      for (const double lambda : {0.0, 3.0}) {
        const KernelRidge ridge = fitted(with(kernel, lambda, solver), rows, {20, 100});
        const RidgeAnswers truth = answers(ridge, queries.states, w);
        std::vector<double> means(static_cast<std::size_t>(count * (p + 1))),
            squares(static_cast<std::size_t>(count * (2 * p + 1))), mean, square, truth_square;
        ridge.action_polynomials(contexts, count, means, squares);
        for (std::int64_t i = 0; i < count; ++i) {
          const double t = queries.states[static_cast<std::size_t>(i * w + last)];
          double m = 0, s = 0;
          for (int q = p; q >= 0; --q) m = m * t + means[static_cast<std::size_t>(i * (p + 1) + q)];
          for (int q = 2 * p; q >= 0; --q) s = s * t + squares[static_cast<std::size_t>(i * (2 * p + 1) + q)];
          mean.push_back(m);
          square.push_back(s);
          truth_square.push_back(std::pow(truth.width[static_cast<std::size_t>(i)], 2));
        }
        CAPTURE(static_cast<int>(solver));
        CHECK(difference(mean, truth.mean) < 1e-9);
        CHECK(difference(square, truth_square) < 1e-9);
      }
    }
  }
}

TEST_CASE("grid means: those of the states spelled out, by every solver of the gaussian kernel") {
  const std::vector<double> actions = {-1.5, -0.2, 0.0, 0.4, 30.0};
  for (const std::int64_t features : {0, 1, 5}) {
    const StateKernel kernel{.kind = KernelKind::gaussian, .features = features, .length = 0.8};
    const RidgeRows rows = ridge_rows(kernel, 300, 61), queries = ridge_rows(kernel, 150, 62);
    for (const std::optional<std::int64_t> points : {std::optional<std::int64_t>(), {40}}) {
      KernelRidgeOptions options = with(kernel, 1, RidgeSolver::inducing_points);
      options.points = points;
      const KernelRidge ridge = fitted(options, rows, {200, 100});
      std::vector<double> contexts, states;
      for (std::int64_t i = 0; i < 150; ++i) {
        const double* x = queries.states.data() + i * kernel.state_size();
        contexts.insert(contexts.end(), x, x + features);
        for (const double action : actions) {
          states.insert(states.end(), x, x + features);
          states.push_back(action);
        }
      }
      std::vector<double> expected(150 * actions.size()), found(expected.size(), -7.0);
      ridge.mean(states, expected);
      ridge.grid_means(contexts, 150, actions, found);
      CAPTURE(points.value_or(0));
      CAPTURE(features);
      CHECK(difference(found, expected) < 1e-9);
    }
  }
  const StateKernel plane{.kind = KernelKind::linear, .features = 1};
  const KernelRidge ridge = fitted(with(plane, 1, RidgeSolver::primal), ridge_rows(plane, 5, 1), {5});
  std::vector<double> out(1);
  CHECK_THROWS_WITH_AS(ridge.grid_means(std::vector<double>{1.0}, 1, std::vector<double>{0.0}, out),
                       doctest::Contains("gaussian kernel"), Error);
}

TEST_CASE("bit coefficients: the mean is linear in the bits, by every solver") {
  const StateKernel kernel{.kind = KernelKind::bits, .features = 3, .actions = 5};
  const RidgeRows rows = ridge_rows(kernel, 150, 71), queries = ridge_rows(kernel, 290, 72);
  std::vector<double> contexts;
  for (std::ptrdiff_t i = 0; i < 290; ++i)
    contexts.insert(contexts.end(), queries.states.begin() + 8 * i, queries.states.begin() + 8 * i + 3);
  for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
    for (const double lambda : {0.0, 1.0}) {
      const KernelRidge ridge = fitted(with(kernel, lambda, solver), rows, {50, 100});
      std::vector<double> coefficients(290 * 6), mean;
      ridge.bit_coefficients(contexts, 290, coefficients);
      for (std::size_t i = 0; i < 290; ++i) {
        mean.push_back(coefficients[6 * i]);
        for (std::size_t k = 0; k < 5; ++k) mean.back() += queries.states[8 * i + 3 + k] * coefficients[6 * i + 1 + k];
      }
      CHECK(difference(mean, answers(ridge, queries.states, 8).mean) < 1e-9);
    }
  }
}

TEST_CASE("flip widths: those of the states spelled out, by every solver that has widths") {
  const StateKernel kernel{.kind = KernelKind::bits, .features = 3, .actions = 5};
  const RidgeRows rows = ridge_rows(kernel, 150, 73), queries = ridge_rows(kernel, 600, 74);
  std::vector<double> contexts, bits, states;
  for (std::size_t i = 0; i < 600; ++i) {
    const double* s = queries.states.data() + 8 * i;
    contexts.insert(contexts.end(), s, s + 3);
    for (std::size_t k = 0; k < 5; ++k) bits.push_back(s[3 + k] > 0.4 ? 1 : 0);
    for (std::size_t flipped = 0; flipped <= 5; ++flipped) {
      states.insert(states.end(), s, s + 3);
      states.insert(states.end(), bits.end() - 5, bits.end());
      if (flipped > 0) *(states.end() - 6 + static_cast<std::ptrdiff_t>(flipped)) = 1 - bits[5 * i + flipped - 1];
    }
  }
  for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
    for (const double lambda : {0.0, 0.5, 10.0}) {
      const KernelRidge ridge = fitted(with(kernel, lambda, solver), rows, {50, 100});
      std::vector<double> widths(600 * 6);
      ridge.flip_widths(contexts, 600, bits, widths);
      CHECK(difference(widths, answers(ridge, states, 8).width) < 1e-9);
    }
  }
  const KernelRidge linear = fitted(with({.features = 3}, 1, RidgeSolver::primal), {}, {});
  CHECK_THROWS_WITH_AS(linear.flip_widths(contexts, 600, bits, states), doctest::Contains("bits kernel"), Error);
}

TEST_CASE("kernel ridge: the same bits on 1, 2 and 5 threads") {
  const auto run = [&](const StateKernel& kernel, RidgeSolver solver, int threads) {
    const RidgeRows rows = ridge_rows(kernel, 700, 81), queries = ridge_rows(kernel, 600, 82);
    RidgeAnswers found;
    in_arena(threads, [&] {
      KernelRidgeOptions options = with(kernel, 1, solver);
      if (solver == RidgeSolver::inducing_points) options.points = 200;
      found = answers(fitted(options, rows, {100, 600}), queries.states, kernel.state_size());
    });
    found.mean.insert(found.mean.end(), found.width.begin(), found.width.end());
    return found.mean;
  };
  std::vector<StateKernel> tried = kernels();
  tried.push_back({.kind = KernelKind::polynomial, .features = 30, .degree = 2});
  for (const StateKernel& kernel : tried) {
    for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
      if (solver == RidgeSolver::primal && kernel.kind == KernelKind::gaussian) continue;
      const std::vector<double> one = run(kernel, solver, 1);
      CHECK(run(kernel, solver, 2) == one);
      CHECK(run(kernel, solver, 5) == one);
    }
  }
}
