// labels: slow
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/file/error.hpp"
#include "support/heap.hpp"
#include "support/reference/kernel_fits.hpp"
#include "support/reference/kernel_reference.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

KernelRidgeOptions nystroem(const StateKernel& kernel, double lambda, std::int64_t points) {
  return ridge_with(kernel, lambda, RidgeSolver::inducing_points, points);
}

KernelRidge fitted(const KernelRidgeOptions& options, const RidgeRows& rows, std::size_t first_batch) {
  return testing::fitted(options, rows, {first_batch, rows.y.size() - first_batch});
}

ErrorKind kind_of(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("nothing was thrown");
  return ErrorKind::run;
}

}  // namespace

TEST_CASE("nystroem: comes to the exact answer as points grow, and its trace error falls to nothing") {
  const std::vector<StateKernel> kernels = {{.kind = KernelKind::gaussian, .features = 2, .length = 0.8},
                                            {.kind = KernelKind::polynomial, .features = 5, .degree = 2},
                                            {.kind = KernelKind::bits, .features = 4, .actions = 5}};
  for (const StateKernel& kernel : kernels) {
    const RidgeRows rows = ridge_rows(kernel, 320, 1), queries = ridge_rows(kernel, 60, 2);
    const RidgeAnswers truth = textbook(kernel, 1, rows, queries.states);
    double last_error = 2;
    for (const std::int64_t points : {5, 20, 320}) {
      const KernelRidge ridge = fitted(nystroem(kernel, 1, points), rows, 200);
      const RidgeAnswers found = answers(ridge, queries.states, kernel.state_size());
      CHECK(ridge.trace_error() < last_error);
      last_error = ridge.trace_error();
      if (points < 320) continue;
      CHECK(ridge.trace_error() < 1e-8);
      CHECK(difference(found.mean, truth.mean) < 1e-6);
      CHECK(difference(found.width, truth.width) < 1e-6);
    }
  }
}

TEST_CASE("nystroem: far from all points nothing is known") {
  const StateKernel kernel{.kind = KernelKind::gaussian, .features = 2, .length = 0.8};
  const RidgeRows rows = ridge_rows(kernel, 320, 1);
  const KernelRidge ridge = fitted(nystroem(kernel, 4, 10), rows, 200);
  const RidgeAnswers found = answers(ridge, std::vector<double>{50, 50, 0}, 3);
  CHECK(found.mean[0] == doctest::Approx(0).scale(1));
  CHECK(found.width[0] == doctest::Approx(0.5).epsilon(1e-12));
}

TEST_CASE("nystroem: a kernel of finite rank needs no more points than it has features") {
  const StateKernel kernel{.kind = KernelKind::polynomial, .features = 3, .degree = 2};
  const RidgeRows rows = ridge_rows(kernel, 900, 5), queries = ridge_rows(kernel, 30, 6);
  const KernelRidge ridge = fitted(nystroem(kernel, 10, 100), rows, 400);
  CHECK(ridge.dimension() == 15);
  CHECK(ridge.trace_error() < 1e-9);
  const RidgeAnswers truth = textbook(kernel, 10, rows, queries.states), found = answers(ridge, queries.states, 4);
  CHECK(difference(found.mean, truth.mean) < 1e-8);
  CHECK(difference(found.width, truth.width) < 1e-6);
}

TEST_CASE("nystroem: points are added for states unlike those before, and only for them") {
  const StateKernel kernel{.kind = KernelKind::gaussian, .features = 1, .length = 2.0};
  RidgeRows near = ridge_rows(kernel, 500, 7), same = ridge_rows(kernel, 500, 7), far = ridge_rows(kernel, 500, 8);
  for (double& s : far.states) s += 30;
  KernelRidgeOptions options = nystroem(kernel, 1, 300);
  options.point_tolerance = 1e-3;
  KernelRidge ridge(options);
  ridge.add(near.states, near.y);
  const std::int64_t first = ridge.dimension();
  ridge.add(same.states, same.y);
  CHECK(ridge.dimension() == first);
  ridge.add(far.states, far.y);
  CHECK(ridge.dimension() > first);
  CHECK(ridge.trace_error() < 2e-3);
}

TEST_CASE("kernel ridge: the solver follows rows and features") {
  const auto choice = [](const StateKernel& kernel, std::int64_t rows) {
    KernelRidgeOptions options;
    options.kernel = kernel;
    options.expected_rows = rows;
    const KernelRidgeOptions chosen = KernelRidge::resolved(options);
    return std::pair{chosen.solver, chosen.points};
  };
  const StateKernel pricing{.kind = KernelKind::polynomial, .features = 10};
  const StateKernel scene{.kind = KernelKind::polynomial, .features = 294};
  const StateKernel words{.kind = KernelKind::polynomial, .features = 500};
  const std::pair<RidgeSolver, std::optional<std::int64_t>> primal{RidgeSolver::primal, {}},
      all_points{RidgeSolver::inducing_points, {}}, some_points{RidgeSolver::inducing_points, 1000};
  CHECK(choice(pricing, 204'700) == primal);
  CHECK(choice(pricing, 50) == primal);
  CHECK(choice({.kind = KernelKind::gaussian, .features = 10}, 2000) == all_points);
  CHECK(choice({.kind = KernelKind::gaussian, .features = 10}, 204'700) == some_points);
  CHECK(choice(scene, 6448) == all_points);
  CHECK(choice(words, 76'000) == some_points);
  CHECK(choice({.kind = KernelKind::linear, .features = 500}, 76'000) == primal);
  CHECK(choice({.kind = KernelKind::bits, .features = 294, .actions = 6}, 6448) == primal);
}

TEST_CASE("kernel ridge: holds no more than it said it would") {
  const StateKernel kernel{.kind = KernelKind::polynomial, .features = 6};
  const RidgeRows rows = ridge_rows(kernel, 1500, 3);
  for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
    KernelRidgeOptions options = nystroem(kernel, 1, 100);
    options.solver = solver;
    fitted(options, rows, 700);  // what threads and libraries take once is there already
    const std::size_t before = heap_bytes();
    const KernelRidge ridge = fitted(options, rows, 700);
    CHECK(heap_bytes() - before <= KernelRidge::bytes_needed(options, 1500));
    if (before > 0) CHECK(heap_bytes() - before > KernelRidge::bytes_needed(options, 1500) / 100);
  }
}

TEST_CASE("kernel ridge: what makes no sense is refused, with a way out") {
  const StateKernel linear{.kind = KernelKind::linear, .features = 1};
  const StateKernel gaussian{.kind = KernelKind::gaussian, .features = 1};
  const auto make = [](const StateKernel& kernel, double lambda, RidgeSolver solver = RidgeSolver::inducing_points) {
    KernelRidgeOptions options = nystroem(kernel, lambda, 10);
    options.solver = solver;
    return KernelRidge(options);
  };
  CHECK(kind_of([&] { make(linear, -1); }) == ErrorKind::usage);
  CHECK(kind_of([&] { make(linear, NAN); }) == ErrorKind::usage);
  CHECK(kind_of([&] { make(gaussian, 1, RidgeSolver::primal); }) == ErrorKind::usage);
  KernelRidgeOptions no_points = nystroem(linear, 1, 10);
  no_points.point_tolerance = 1;
  CHECK(kind_of([&] { KernelRidge{no_points}; }) == ErrorKind::usage);
  CHECK_THROWS_WITH_AS(make(linear, -2), doctest::Contains("lambda is -2"), Error);

  KernelRidge ridge = make(linear, 1);
  const std::vector<double> states = {1, 2, 3, NAN}, good = {1, 2, 3, 4}, y = {1, 2}, bad_y = {1, INFINITY};
  CHECK_THROWS_WITH_AS(ridge.add(states, y), doctest::Contains("row 1: number 1 of the state is nan"), Error);
  CHECK_THROWS_WITH_AS(ridge.add(good, bad_y), doctest::Contains("row 1: the response is inf"), Error);
  CHECK(kind_of([&] { ridge.add(good, std::vector<double>(3)); }) == ErrorKind::usage);
  std::vector<double> out(3);
  CHECK(kind_of([&] { ridge.mean(good, out); }) == ErrorKind::usage);
  CHECK(kind_of([&] { ridge.bit_coefficients(good, 4, out); }) == ErrorKind::usage);
  CHECK(kind_of([&] { make(gaussian, 1).action_polynomials(good, 4, out, {}); }) == ErrorKind::usage);
}

TEST_CASE("kernel ridge: repeated states without lambda are named, and so is the way out") {
  const StateKernel gaussian{.kind = KernelKind::gaussian, .features = 1};
  const KernelRidgeOptions options = ridge_with(gaussian, 0, RidgeSolver::inducing_points, std::nullopt);
  KernelRidge ridge(options);
  const std::vector<double> states = {5, 5, 1, 2, 8, 8, 1, 2}, y = {1, 2, 3, 4};
  CHECK_THROWS_WITH_AS(ridge.add(states, y), doctest::Contains("row 3: the state is that of row 1 again"), Error);
  KernelRidge crowded(options);
  const std::vector<double> close = {5, 5, 5 + 1e-9, 5};
  CHECK_THROWS_WITH_AS(crowded.add(close, std::vector<double>{1, 2}), doctest::Contains("lambda above zero"), Error);
}

TEST_CASE("kernel ridge: products that overflow are an error, by every solver") {
  for (const RidgeSolver solver : {RidgeSolver::primal, RidgeSolver::inducing_points}) {
    for (const double lambda : {0.0, 1.0}) {
      KernelRidgeOptions options = nystroem({.kind = KernelKind::polynomial, .features = 1, .degree = 3}, lambda, 10);
      options.solver = solver;
      KernelRidge ridge(options);
      RidgeRows rows = ridge_rows(options.kernel, 5, 1);
      for (double& s : rows.states) s *= 1e120;
      CHECK_THROWS_WITH_AS(ridge.add(rows.states, rows.y), doctest::Contains("row 0: the kernel's value"), Error);
    }
  }
}
