// labels: fast
#include "scrm/engine/regression/kernel_ridge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "scrm/engine/regression/kernel_ridge.hpp"
#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/file/error.hpp"
#include "support/reference/kernel_reference.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

double horner(const std::vector<double>& c, double t) {
  double value = 0;
  for (std::size_t q = c.size(); q-- > 0;) value = value * t + c[q];
  return value;
}

BestAction one_by_one(const std::vector<double>& mean, const std::vector<double>& square, double beta,
                      const ActionGrid& grid) {
  BestAction best{-1, -INFINITY};
  for (std::int64_t i = 0; i < grid.count; ++i) {
    const double t = grid.action(i);
    const double value = horner(mean, t) + (square.empty() ? 0 : beta * std::sqrt(std::max(horner(square, t), 0.0)));
    if (value > best.value) best = {i, value};
  }
  return best;
}

}  // namespace

TEST_CASE("best action: is the one that looking at every action finds") {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 400; ++trial) {
    const auto degree = static_cast<std::size_t>(1 + trial % 4);
    const ActionGrid grid{-3.0 + normal(random), 0.01 + 0.1 * std::abs(normal(random)), 1 + 97 * (trial % 7)};
    std::vector<double> mean(degree + 1), root(degree + 1), square(2 * degree + 1, 0.01);
    for (double& c : mean) c = normal(random);
    for (double& c : root) c = normal(random);
    // A square plus a little is positive everywhere, as squared widths are.
    for (std::size_t i = 0; i <= degree; ++i) {
      for (std::size_t j = 0; j <= degree; ++j) square[i + j] += root[i] * root[j];
    }
    for (const double beta : {0.0, 0.3, 5.0, -0.7}) {
      const BestAction found = best_action(mean, square, beta, grid), truth = one_by_one(mean, square, beta, grid);
      CHECK(found.index == truth.index);
      CHECK(found.value == truth.value);
    }
    CHECK(best_action(mean, {}, 1.0, grid).index == one_by_one(mean, {}, 1.0, grid).index);
  }
}

TEST_CASE("best action: four million integers, and the first of equals") {
  const ActionGrid bits{0, 1, std::int64_t{1} << 22};
  const std::vector<double> hill = {3, 2e-3, -3e-10}, width = {0.5, 0, 1e-14, 0, 1e-26};
  for (const double beta : {0.0, 0.01, 10.0})
    CHECK(best_action(hill, width, beta, bits).index == one_by_one(hill, width, beta, bits).index);
  CHECK(best_action(std::vector<double>{0, 1e-9}, {}, 0, bits).index == bits.count - 1);
  CHECK(best_action(std::vector<double>{0, 0}, {}, 0, bits).index == 0);
  CHECK(best_action(std::vector<double>{4}, {}, 0, bits).index == 0);
  // Two equal peaks.
  const ActionGrid line{-8, 1, 17};
  CHECK(best_action(std::vector<double>{0, 0, 8, 0, -1}, {}, 0, line).index == 6);
}

TEST_CASE("best actions: from a kernel ridge's polynomials are those of its means and widths") {
  limit_openblas_to_one_thread();
  KernelRidgeOptions options;
  options.kernel = {.kind = KernelKind::polynomial, .features = 3};
  const RidgeRows rows = ridge_rows(options.kernel, 200, 1), queries = ridge_rows(options.kernel, 150, 2);
  KernelRidge ridge(options);
  ridge.add(rows.states, rows.y);
  const ActionGrid grid{-5, 0.5, 19};
  std::vector<double> contexts, states, means(150 * 3), squares(150 * 5), mean(150 * 19), width(150 * 19);
  for (std::ptrdiff_t i = 0; i < 150; ++i) {
    const auto begin = queries.states.begin() + 4 * i;
    contexts.insert(contexts.end(), begin, begin + 3);
    for (std::int64_t g = 0; g < 19; ++g) {
      states.insert(states.end(), begin, begin + 3);
      states.push_back(grid.action(g));
    }
  }
  ridge.action_polynomials(contexts, 150, means, squares);
  ridge.mean_and_width(states, mean, width);
  std::vector<BestAction> best(150);
  best_actions(means, squares, 0.3, grid, best);
  for (std::size_t i = 0; i < 150; ++i) {
    double most = -INFINITY;
    for (std::size_t g = 0; g < 19; ++g) most = std::max(most, mean[19 * i + g] + 0.3 * width[19 * i + g]);
    const std::size_t at = 19 * i + static_cast<std::size_t>(best[i].index);
    CHECK(mean[at] + 0.3 * width[at] == doctest::Approx(most).epsilon(1e-10));
    CHECK(best[i].value == doctest::Approx(most).epsilon(1e-9));
  }
}

TEST_CASE("best action: an empty grid is refused") {
  CHECK_THROWS_WITH_AS(best_action(std::vector<double>{1}, {}, 0, {0, 1, 0}),
                       doctest::Contains("no actions to choose from"), Error);
  std::vector<BestAction> best(3);
  CHECK_THROWS_WITH_AS(best_actions(std::vector<double>(4), {}, 0, {0, 1, 5}, best),
                       doctest::Contains("do not divide among 3 contexts"), Error);
}
