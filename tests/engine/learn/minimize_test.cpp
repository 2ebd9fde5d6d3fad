// labels: fast
#include "scrm/engine/minimize.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

using namespace scrm;

namespace {

double rosenbrock(const std::vector<double>& x, std::vector<double>& gradient) {
  const double a = 1 - x[0], b = x[1] - x[0] * x[0];
  gradient = {-2 * a - 400 * x[0] * b, 200 * b};
  return a * a + 100 * b * b;
}

}  // namespace

TEST_CASE("minimize: finds the bottom of a curved valley") {
  const MinimizeResult result = minimize(rosenbrock, {-1.2, 1}, {});
  CHECK(result.status == MinimizeStatus::converged);
  CHECK(result.point[0] == doctest::Approx(1).epsilon(1e-7));
  CHECK(result.point[1] == doctest::Approx(1).epsilon(1e-7));
}

TEST_CASE("minimize: stops at the wall of a box where that is lowest") {
  MinimizeOptions options;
  options.bound = {{-2.0, 0.5}};
  const MinimizeResult result = minimize(rosenbrock, {-1.2, 0.4}, options);
  CHECK(result.status == MinimizeStatus::converged);
  CHECK(result.point[0] == doctest::Approx(0.5));
  CHECK(result.point[1] == doctest::Approx(0.25));
}

TEST_CASE("minimize: says so when the objective falls without end") {
  const auto fall = [](const std::vector<double>& x, std::vector<double>& gradient) {
    gradient = {-std::exp(x[0])};
    return -std::exp(x[0]);
  };
  CHECK(minimize(fall, {0.0}, {}).status == MinimizeStatus::unbounded);
}

TEST_CASE("minimize: says so when there is no slope to follow") {
  const auto plain = [](const std::vector<double>&, std::vector<double>& gradient) {
    gradient = {0.0};
    return 4.0;
  };
  const MinimizeResult result = minimize(plain, {2.0}, {});
  CHECK(result.status == MinimizeStatus::zero_gradient);
  CHECK(result.point == std::vector<double>{2.0});
}

TEST_CASE("minimize: steps back from values that are no numbers") {
  const auto cliff = [](const std::vector<double>& x, std::vector<double>& gradient) {
    gradient = {x[0] > 3.5 ? NAN : 2 * (x[0] - 3)};
    return x[0] > 3.5 ? NAN : (x[0] - 3) * (x[0] - 3);
  };
  const MinimizeResult result = minimize(cliff, {-100.0}, {});
  CHECK(result.status == MinimizeStatus::converged);
  CHECK(result.point[0] == doctest::Approx(3));
}

TEST_CASE("minimize: stops at the iteration limit with the best point found") {
  MinimizeOptions options;
  options.max_iterations = 3;
  const MinimizeResult result = minimize(rosenbrock, {-1.2, 1}, options);
  CHECK(result.status == MinimizeStatus::iteration_limit);
  std::vector<double> gradient;
  CHECK(result.value == rosenbrock(result.point, gradient));
  CHECK(result.value < rosenbrock({-1.2, 1}, gradient));
}

TEST_CASE("minimize: lets the function's own exceptions through") {
  struct Trouble : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const auto broken = [](const std::vector<double>&, std::vector<double>&) -> double { throw Trouble("no"); };
  CHECK_THROWS_AS(minimize(broken, {0.0}, {}), Trouble);
}
