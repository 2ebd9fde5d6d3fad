// labels: fast threads
#include "scrm/engine/learn/action_regression.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "scrm/engine/pass/memory_source.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

// Features in raw units: a share, a distance from a far zero, a constant, and three levels of which every row has one.
constexpr std::int64_t kFeatures = 6;
constexpr double kSlopes[kFeatures] = {4000, -2e-4, 0, 1.5, -0.5, 0.25};
constexpr double kResidual = 0.4;

void set_context(LoggedRows& rows, std::int64_t row, std::mt19937_64& random) {
  double* x = rows.context.data() + row * kFeatures;
  std::fill_n(x, kFeatures, 0.0);
  x[0] = 1e-3 * normal(random);
  x[1] = 1e5 + 1e4 * normal(random);
  x[2] = 2.5;
  x[row % 10 == 0 ? 5 : 3 + row % 2] = 1;
}

double mean_action(const LoggedRows& rows, std::int64_t row) {
  double mean = 20;
  for (std::int64_t j = 0; j < kFeatures; ++j) mean += kSlopes[j] * LoggedRows::cell(rows.context, row, j, kFeatures);
  return mean;
}

/// Actions that follow the context, with noise of that spread.
LoggedRows following_rows(std::int64_t count, double noise = kResidual, bool sparse = false,
                          FloatType type = FloatType::f64) {
  LoggedRows rows = random_rows(schema_for(PolicyKind::gaussian, kFeatures, sparse, type), count, 3, 0.3);
  std::mt19937_64 random(4);
  for (std::int64_t i = 0; i < count; ++i) {
    set_context(rows, i, random);
    rows.action[static_cast<std::size_t>(i)] = mean_action(rows, i) + noise * normal(random);
  }
  return rows;
}

std::optional<ActionRegression> regression_of(const LoggedRows& rows, const PassOptions& pass = {},
                                              const RowMask* training = nullptr) {
  MemorySource source = make_source(rows);
  return explaining_regression(source, policy_kind(PolicyKind::gaussian), rows.schema.features, training, pass);
}

PassOptions with(int threads, std::size_t memory = 0) {
  PassOptions pass;
  pass.threads = threads;
  pass.memory = memory;
  return pass;
}

double score(const std::vector<double>& theta, const LoggedRows& rows, std::int64_t row) {
  double sum = theta[0];
  for (std::size_t j = 0; j + 1 < theta.size(); ++j)
    sum += theta[1 + j] * LoggedRows::cell(rows.context, row, static_cast<std::int64_t>(j), kFeatures);
  return sum;
}

}  // namespace

TEST_CASE("action regression: finds the mean of actions that follow the context, in any units and however it is held") {
  for (const bool sparse : {false, true}) {
    for (const FloatType type : {FloatType::f64, FloatType::f32}) {
      CAPTURE(sparse);
      const LoggedRows rows = following_rows(5000, kResidual, sparse, type);
      const auto found = regression_of(rows);
      REQUIRE(found);
      CHECK(found->residual_spread == doctest::Approx(kResidual).epsilon(0.03));
      CHECK(found->explained() == doctest::Approx(1 - std::pow(found->residual_spread / found->spread, 2)));
      // Six standard errors of a mean that has five parameters.
      double square = 0;
      for (std::int64_t i = 0; i < rows.rows; ++i)
        square += std::pow(score(found->theta, rows, i) - mean_action(rows, i), 2);
      CHECK(std::sqrt(square / 5000) < 6 * kResidual * std::sqrt(5 / 5000.0));
      CHECK(found->theta[1 + 2] == 0);  // never varies
      // What every level has is left to the intercept.
      CHECK(std::abs(0.4 * found->theta[1 + 3] + 0.5 * found->theta[1 + 4] + 0.1 * found->theta[1 + 5]) < 1e-5);
    }
  }
}

TEST_CASE("action regression: leaves no residual that goes with a feature") {
  const LoggedRows rows = following_rows(3000);
  const auto found = regression_of(rows);
  REQUIRE(found);
  double products[kFeatures + 1] = {}, squares[kFeatures + 1] = {};
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const double left = rows.action[static_cast<std::size_t>(i)] - score(found->theta, rows, i);
    for (std::int64_t j = 0; j <= kFeatures; ++j) {
      const double x = j == kFeatures ? 1 : LoggedRows::cell(rows.context, i, j, kFeatures);
      products[j] += left * x;
      squares[j] += x * x;
    }
  }
  for (std::int64_t j = 0; j <= kFeatures; ++j)
    CHECK(std::abs(products[j]) < 1e-5 * std::sqrt(squares[j] * 3000) * kResidual);
}

TEST_CASE("action regression: has the same bits on any number of threads, also where a sample is asked first") {
  const LoggedRows rows = following_rows(300000);
  const auto one = regression_of(rows, with(1)), seven = regression_of(rows, with(7));
  REQUIRE(one);
  REQUIRE(seven);
  CHECK(one->theta == seven->theta);
  CHECK(one->residual_spread == seven->residual_spread);
}

TEST_CASE("action regression: there is none where contexts explain less than half, or all but rounding") {
  const double spread = regression_of(following_rows(4000))->spread;  // of means, but for a little
  CHECK(regression_of(following_rows(4000, 0.9 * spread)));
  CHECK_FALSE(regression_of(following_rows(4000, 1.1 * spread)));
  CHECK_FALSE(regression_of(following_rows(300000, 1.1 * spread)));
  CHECK_FALSE(regression_of(following_rows(4000, 0)));
}

TEST_CASE("action regression: there is none without rows or features, or with hardly more rows than parameters") {
  for (const std::int64_t count : {0, 1, 2, 7, 14}) CHECK_FALSE(regression_of(following_rows(count)));
  CHECK(regression_of(following_rows(30)));
  LoggedRows none = random_rows(schema_for(PolicyKind::gaussian, 0), 100, 1);
  CHECK_FALSE(regression_of(none));
  for (const std::int64_t features : {50, 2000}) {
    LoggedRows wide = random_rows(schema_for(PolicyKind::gaussian, features), 60, 1);
    for (std::int64_t i = 0; i < 60; ++i)
      wide.action[static_cast<std::size_t>(i)] = LoggedRows::cell(wide.context, i, 0, features);
    CHECK_FALSE(regression_of(wide));
  }
}

TEST_CASE("action regression: there is none where it does not fit the memory") {
  LoggedRows rows = following_rows(5000);
  CHECK(regression_of(rows, with(1, std::size_t{64} << 20)));
  CHECK_FALSE(regression_of(rows, with(1, 1000)));
}

TEST_CASE("action regression: knows only the rows that are kept, and no action outside of the kind's range") {
  LoggedRows rows = following_rows(4000);
  LoggedRows spoilt = rows;
  RowMask training(4000, false);
  for (std::int64_t i = 0; i < 4000; ++i) {
    if (i % 5 == 0)
      spoilt.action[static_cast<std::size_t>(i)] = 1e6;
    else
      training.set(i);
  }
  const auto kept = regression_of(rows, {}, &training), same = regression_of(spoilt, {}, &training);
  REQUIRE(kept);
  REQUIRE(same);
  CHECK(kept->theta == same->theta);
  // Logarithms of the same; where there are none the row says nothing.
  for (double& action : rows.action) action = std::exp(action);
  for (std::int64_t i = 0; i < 4000; i += 5) rows.action[static_cast<std::size_t>(i)] = -1;
  MemorySource source = make_source(rows);
  const auto logs = explaining_regression(source, policy_kind(PolicyKind::lognormal), kFeatures, nullptr, {});
  REQUIRE(logs);
  for (std::size_t j = 0; j < kept->theta.size(); ++j)
    CHECK(logs->theta[j] == doctest::Approx(kept->theta[j]).epsilon(1e-6));
}

TEST_CASE("action regression: takes the first features alone where others follow them") {
  const LoggedRows rows = following_rows(4000);
  MemorySource source = make_source(rows);
  const auto first = explaining_regression(source, policy_kind(PolicyKind::gaussian), 1, nullptr, {});
  REQUIRE(first);
  CHECK(first->theta.size() == 2);
  CHECK(first->theta[1] == doctest::Approx(kSlopes[0]).epsilon(0.05));
}
