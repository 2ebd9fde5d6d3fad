// labels: fast
#include "scrm/engine/learn/minimize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "learn/search/minimizer.hpp"

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

TEST_CASE_TEMPLATE("minimize: lets the function's own exceptions through, those that line searches end with included",
                   Failure, std::runtime_error, std::logic_error, std::bad_alloc) {
  for (const bool in_box : {false, true}) {
    for (const int last : {1, 2, 7}) {
      CAPTURE(in_box);
      CAPTURE(last);
      int evaluations = 0;
      const auto fails = [&](const std::vector<double>& x, std::vector<double>& gradient) {
        if (++evaluations == last) {
          if constexpr (std::is_same_v<Failure, std::bad_alloc>)
            throw Failure();
          else
            throw Failure("the function's own");
        }
        return rosenbrock(x, gradient);
      };
      MinimizeOptions options;
      if (in_box) options.bound = {{-2.0, 2.0}};
      CHECK_THROWS_AS(minimize(fails, {-1.2, 1}, options), Failure);
      CHECK(evaluations == last);
    }
  }
}

TEST_CASE("Minimizer: searches that take turns find what each finds alone") {
  const std::vector<std::vector<double>> starts = {{-1.2, 1}, {0.3, -1.7}, {1, 1}, {1.9, 1.9}};
  for (const bool in_box : {false, true}) {
    MinimizeOptions options;
    if (in_box) options.bound = {{-2.0, 2.0}};
    std::vector<Minimizer> searches;
    for (const std::vector<double>& start : starts) searches.emplace_back(start, options);
    std::vector<double> gradient;
    for (bool all_done = false; !all_done;) {
      all_done = true;
      for (Minimizer& search : searches) {
        if (search.done()) continue;
        const double value = rosenbrock(search.ask(), gradient);
        search.tell(value, gradient);
        all_done = false;
      }
    }
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const MinimizeResult alone = minimize(rosenbrock, starts[i], options);
      CHECK(searches[i].result().status == alone.status);
      CHECK(searches[i].result().point == alone.point);
      CHECK(searches[i].result().value == alone.value);
      CHECK(searches[i].result().evaluations == alone.evaluations);
      CHECK(searches[i].result().iterations == alone.iterations);
    }
  }
}

TEST_CASE("Minimizer: goes on with another objective from the best point, and with the curvature it knows") {
  const auto bowl = [](double bottom) {
    return [bottom](const std::vector<double>& x, std::vector<double>& gradient) {
      double value = 0, steepness = 1;
      for (std::size_t j = 0; j < x.size(); ++j, steepness *= 10) {
        const double off = x[j] - bottom;
        value += steepness * off * off;
        gradient[j] = 2 * steepness * off;
      }
      return value;
    };
  };
  std::vector<double> gradient(4);
  Minimizer search({5, -4, 3, 2}, {});
  while (!search.done()) search.tell(bowl(0)(search.ask(), gradient), gradient);
  const std::vector<double> between = search.result().point;
  const int first = search.result().evaluations;
  search.resume({});
  CHECK_FALSE(search.done());
  CHECK(search.ask() == between);
  while (!search.done()) search.tell(bowl(0.1)(search.ask(), gradient), gradient);
  CHECK(search.result().status == MinimizeStatus::converged);
  for (const double x : search.result().point) CHECK(x == doctest::Approx(0.1).epsilon(1e-8));
  const MinimizeResult fresh = minimize(bowl(0.1), between, {});
  CAPTURE(first);
  CHECK(search.result().evaluations < fresh.evaluations / 2);
}

TEST_CASE("minimize: a line search in a box asks for no point twice and for none outside") {
  std::vector<std::vector<double>> asked;
  const auto counted = [&asked](const std::vector<double>& x, std::vector<double>& gradient) {
    asked.push_back(x);
    return rosenbrock(x, gradient);
  };
  MinimizeOptions options;
  options.bound = {{-1.5, 0.9}};
  const MinimizeResult result = minimize(counted, {-1.2, 0.9}, options);
  CHECK(result.evaluations == std::ssize(asked));
  for (const std::vector<double>& x : asked) {
    for (const double coordinate : x) CHECK((coordinate >= -1.5 - 1e-15 && coordinate <= 0.9 + 1e-15));
  }
  std::sort(asked.begin(), asked.end());
  CHECK(std::adjacent_find(asked.begin(), asked.end()) == asked.end());
}
