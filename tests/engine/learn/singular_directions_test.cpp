// labels: fast
#include "learn/features/singular_directions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "scrm/engine/pass/memory_source.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

// A number, three levels of which every row has one (the last is rare), a constant, and a level that never occurs.
constexpr std::int64_t kFeatures = 6, kConstant = 4, kUnseen = 5;

LoggedRows rows_with_levels(PolicyKind kind, bool sparse, std::int64_t count = 3000) {
  Schema schema = schema_for(kind, kFeatures, sparse);
  LoggedRows rows = random_rows(schema, count, 7, 0.3);
  std::mt19937_64 random(8);
  rows.context.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t level = i % 10 == 0 ? 3 : 1 + i % 2;
    std::vector<double> x(kFeatures);
    x[0] = 1e4 + normal(random);  // far from zero for its spread, which does not make it constant
    x[static_cast<std::size_t>(level)] = 1;
    x[kConstant] = 2.5;
    rows.context.insert(rows.context.end(), x.begin(), x.end());
  }
  return rows;
}

LearnOptions standardized(double l2 = 0) {
  LearnOptions options;
  options.rules.estimator = &kSnipsEstimator;
  options.rules.l2 = l2;
  options.lambdas = {1.0};
  options.minimize.max_iterations = 50;
  options.standardize = true;
  return options;
}

double score(const std::vector<double>& theta, std::size_t output, const double* x) {
  const double* row = theta.data() + output * (kFeatures + 1);
  double sum = row[0];
  for (std::size_t j = 0; j < kFeatures; ++j) sum += row[1 + j] * x[j];
  return sum;
}

}  // namespace

TEST_CASE(
    "singular directions: moving along them changes no score, and takes the mean of the levels to the intercept") {
  const LoggedRows rows = rows_with_levels(PolicyKind::softmax, false);
  MemorySource source = make_source(rows);
  Policy policy = zero_policy(PolicyKind::softmax, FeatureMap::linear, rows.schema);
  const SingularDirections directions = SingularDirections::find(source, nullptr, policy, {});
  REQUIRE_FALSE(directions.empty());
  CHECK(directions.constant_features() == std::vector<std::int64_t>{kConstant, kUnseen});
  std::vector<double> start(policy.theta.size()), theta(policy.theta.size());
  std::mt19937_64 random(9);
  for (double& x : theta) x = normal(random);
  for (std::size_t k = 0; k < 4; ++k) {  // far along the direction of the levels
    theta[7 * k] -= 1e5;
    for (std::size_t j = 2; j <= 4; ++j) theta[7 * k + j] += 1e5;
  }
  const std::vector<double> moved = directions.nearest(theta, start);
  std::vector<double> counts(kFeatures);
  for (std::size_t i = 0; i < 3000; ++i) {
    const double* x = rows.context.data() + i * kFeatures;
    for (std::size_t j = 0; j < kFeatures; ++j) counts[j] += x[j];
    for (std::size_t k = 0; k < 4; ++k) CHECK(std::abs(score(theta, k, x) - score(moved, k, x)) < 1e-9);
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const double* row = moved.data() + 7 * k;
    CHECK(std::abs(counts[1] * row[2] + counts[2] * row[3] + counts[3] * row[4]) / 3000 < 1e-7);
    CHECK(row[1] == doctest::Approx(theta[7 * k + 1]));  // what varies by itself stays
    CHECK(row[1 + kConstant] == 0);
    CHECK(row[1 + kUnseen] == 0);
  }
  // Beside another start it is the way from there that counts.
  start = theta;
  CHECK(directions.nearest(theta, start) == theta);
  start[1 + kUnseen] = 3;
  CHECK(directions.nearest(theta, start)[1 + kUnseen] == 3);
}

TEST_CASE("singular directions: sparse rows have those of dense ones, and rows held out have no say") {
  const LoggedRows rows = rows_with_levels(PolicyKind::gaussian, false);
  MemorySource source = make_source(rows);
  const Policy policy = zero_policy(PolicyKind::gaussian, FeatureMap::linear, rows.schema);
  RowMask common(rows.rows, false);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    if (i % 10 != 0) common.set(i);
  }
  CHECK(SingularDirections::find(source, &common, policy, {}).constant_features() ==
        std::vector<std::int64_t>{3, kConstant, kUnseen});
  MemorySource sparse = make_source(rows_with_levels(PolicyKind::gaussian, true));
  const SingularDirections dense = SingularDirections::find(source, nullptr, policy, {});
  const SingularDirections other = SingularDirections::find(sparse, nullptr, policy, {});
  CHECK(other.constant_features() == dense.constant_features());
  const std::vector<double> theta = {1, 2, 3, 4, 5, 6, 7}, start(7);
  const std::vector<double> moved = dense.nearest(theta, start), same = other.nearest(theta, start);
  CHECK(moved[0] > 1);
  for (std::size_t j = 0; j < 7; ++j) CHECK(moved[j] == doctest::Approx(same[j]).epsilon(1e-9));
}

TEST_CASE("singular directions: where every feature has something of its own there are none") {
  for (const std::int64_t count : {3, 40, 5000}) {
    const Schema schema = schema_for(PolicyKind::gaussian, 2, false);
    const LoggedRows rows = random_rows(schema, count, 3, 0.3);
    MemorySource source = make_source(rows);
    const Policy policy = zero_policy(PolicyKind::gaussian, FeatureMap::linear, schema);
    CHECK(SingularDirections::find(source, nullptr, policy, {}).empty());
  }
}

TEST_CASE("learn: levels of which every row has one leave nothing to chance beside an intercept") {
  for (const PolicyKind kind : {PolicyKind::softmax, PolicyKind::gaussian}) {
    LoggedRows rows = rows_with_levels(kind, false);
    for (std::size_t i = 0; i < 3000; ++i) rows.loss[i] += rows.context[i * kFeatures + 1];
    MemorySource source = make_source(rows);
    const Policy start = zero_policy(kind, FeatureMap::linear, rows.schema);
    const LearnReport report = learn(source, start, standardized(), {});
    CHECK(report.constant_features == std::vector<std::int64_t>{kConstant, kUnseen});
    const LearnedPolicy& found = report.policies.front();
    CHECK(found.search.point == found.policy.theta);
    for (std::size_t first = 0; first < found.policy.theta.size(); first += kFeatures + 1) {
      const double* row = found.policy.theta.data() + first;
      const double size = 1 + std::abs(row[2]) + std::abs(row[3]) + std::abs(row[4]);
      CHECK(std::abs(0.4 * row[2] + 0.5 * row[3] + 0.1 * row[4]) < 1e-6 * size);
      CHECK(row[1 + kConstant] == 0);
      CHECK(row[1 + kUnseen] == 0);
    }
    ObjectiveProblem problem{found.policy, standardized().rules, nullptr};
    problem.rules.lambda = 1;
    problem.rules.alpha = report.alpha;
    problem.rules.mean_loss = report.loss.mean;
    CHECK(evaluate_objectives(source, {problem}, {}).front().objective == found.value.objective);
  }
}
