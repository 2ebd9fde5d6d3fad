// labels: fast
#include "scrm/engine/regression/ridge_regression.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <vector>

#include "scrm/io/file/error.hpp"

using namespace scrm;

namespace {

struct Rows {
  std::int64_t features;
  std::vector<double> x, y;
};

Rows random_rows(std::int64_t n, std::int64_t d, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Rows rows{d, {}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    double y = 5 + 0.3 * normal(random);
    for (std::int64_t j = 0; j < d; ++j) {
      rows.x.push_back(3 + normal(random));
      y += rows.x.back() / static_cast<double>(j + 1);
    }
    rows.y.push_back(y);
  }
  return rows;
}

/// Normal equations in long double, the intercept's entry of the penalty zero.
std::vector<double> textbook(const Rows& rows, double penalty) {
  using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const auto n = static_cast<Eigen::Index>(rows.y.size());
  Matrix x(n, rows.features + 1), y(n, 1);
  for (Eigen::Index i = 0; i < n; ++i) {
    x(i, 0) = 1;
    y(i, 0) = rows.y[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < rows.features; ++j)
      x(i, j + 1) = rows.x[static_cast<std::size_t>(i * rows.features + j)];
  }
  Matrix a = x.transpose() * x;
  for (Eigen::Index j = 1; j <= rows.features; ++j) a(j, j) += penalty;
  const Matrix beta = a.fullPivLu().solve(x.transpose() * y);
  std::vector<double> out;
  for (Eigen::Index j = 0; j <= rows.features; ++j) out.push_back(static_cast<double>(beta(j, 0)));
  return out;
}

double brute_force(const Rows& rows, double penalty) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    const auto d = rows.features;
    Rows rest = rows;
    rest.y.erase(rest.y.begin() + static_cast<std::ptrdiff_t>(i));
    rest.x.erase(rest.x.begin() + static_cast<std::ptrdiff_t>(i) * d,
                 rest.x.begin() + static_cast<std::ptrdiff_t>(i + 1) * d);
    const RidgeModel model{textbook(rest, penalty), penalty, {}};
    const std::span<const double> x(rows.x.data() + static_cast<std::ptrdiff_t>(i) * d, static_cast<std::size_t>(d));
    const double residual = rows.y[i] - model.predict(x);
    sum += residual * residual;
  }
  return sum / static_cast<double>(rows.y.size());
}

}  // namespace

TEST_CASE("ridge: leave-one-out in closed form is what refitting without each row gives") {
  const std::vector<double> penalties = {1e-3, 1e-2, 0.1, 1, 50};
  for (const auto& [n, d] : {std::pair{25, 3}, {40, 1}, {10, 0}, {8, 15}, {2, 1}}) {
    const Rows rows = random_rows(n, d, static_cast<std::uint64_t>(n));
    const RidgeModel model = fit_ridge(rows.x, d, rows.y, penalties);
    double best = INFINITY, chosen = 0;
    for (std::size_t k = 0; k < penalties.size(); ++k) {
      const double expected = brute_force(rows, penalties[k]);
      CHECK(model.leave_one_out[k] == doctest::Approx(expected).epsilon(1e-8));
      if (model.leave_one_out[k] < best) {
        best = model.leave_one_out[k];
        chosen = penalties[k];
      }
    }
    CHECK(model.penalty == chosen);
    const std::vector<double> expected = textbook(rows, chosen);
    for (std::size_t j = 0; j < expected.size(); ++j)
      CHECK(model.beta[j] == doctest::Approx(expected[j]).epsilon(1e-8));
  }
}

TEST_CASE("ridge: one row gives its own answer and no slope") {
  const RidgeModel model = fit_ridge(std::vector<double>{4, 2}, 2, std::vector<double>{7}, std::vector<double>{0.1, 1});
  CHECK(model.beta == std::vector<double>{7, 0, 0});
  CHECK(std::isinf(model.leave_one_out[0]));
}

TEST_CASE("ridge: without a penalty and with more features than rows the slope is the shortest that fits") {
  const Rows rows = random_rows(6, 20, 4);
  const RidgeModel model = fit_ridge(rows.x, 20, rows.y, std::vector<double>{0.0}),
                   nearly = fit_ridge(rows.x, 20, rows.y, std::vector<double>{1e-9});
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(model.predict(std::span(rows.x).subspan(20 * i, 20)) == doctest::Approx(rows.y[i]).epsilon(1e-10));
  for (std::size_t j = 0; j < model.beta.size(); ++j)
    CHECK(model.beta[j] == doctest::Approx(nearly.beta[j]).epsilon(1e-6));
}

TEST_CASE("ridge: a constant feature gets no weight and disturbs nothing") {
  Rows rows = random_rows(30, 2, 9);
  for (std::size_t i = 0; i < 30; ++i) rows.x[2 * i] = 1.5;
  const RidgeModel model = fit_ridge(rows.x, 2, rows.y, std::vector<double>{0.0, 1e-3});
  CHECK(model.beta[1] == doctest::Approx(0).scale(1));
  CHECK(std::isfinite(model.leave_one_out[0]));
}

TEST_CASE("ridge: what makes no sense is refused by name") {
  const std::vector<double> x = {1, 2, NAN, 4}, good = {1, 2, 3, 4}, y = {1, 2}, one = {1};
  CHECK_THROWS_WITH_AS(fit_ridge({}, 2, {}, one), doctest::Contains("no rows to fit a ridge regression on"), Error);
  CHECK_THROWS_WITH_AS(fit_ridge(good, 2, y, {}), doctest::Contains("no penalty to choose from"), Error);
  CHECK_THROWS_WITH_AS(fit_ridge(good, 3, y, one), doctest::Contains("4 numbers are not 2 rows of 3 features"), Error);
  CHECK_THROWS_WITH_AS(fit_ridge(good, 2, y, std::vector<double>{-1}), doctest::Contains("penalty is -1"), Error);
  CHECK_THROWS_WITH_AS(fit_ridge(x, 2, y, one), doctest::Contains("row 1: feature 0 is nan"), Error);
}
