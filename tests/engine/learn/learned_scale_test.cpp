// labels: fast
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "learn/search/search_coordinates.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// Actions drawn by N(0, 1), or their exponentials, and what each costs.
LoggedRows logs(PolicyKind kind, std::int64_t n, const std::function<double(double, double)>& loss) {
  Schema schema;
  schema.features = 2;
  LoggedRows rows = random_rows(schema, n, 3);
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const double z = normal(random);
    const bool lognormal = kind == PolicyKind::lognormal;
    rows.action[i] = lognormal ? std::exp(z) : z;
    rows.propensity[i] = std::exp(-0.5 * z * z) / std::sqrt(2 * std::acos(-1.0)) / (lognormal ? rows.action[i] : 1);
    rows.loss[i] = loss(z, rows.context[2 * i]);
  }
  return rows;
}

/// The best action is a line in x: the narrower, the better.
double line(double z, double x) {
  return (z - 0.3 * x - 0.2) * (z - 0.3 * x - 0.2) - 3;
}

LearnedPolicy learned(const LoggedRows& rows, PolicyKind kind, const LearnOptions& options, double scale = 0.7,
                      int threads = 1) {
  Policy start = zero_policy(kind, FeatureMap::linear, rows.schema);
  start.scale = scale;
  MemorySource source = make_source(rows);
  PassOptions pass;
  pass.threads = threads;
  return learn(source, start, options, pass).policies.front();
}

// A penalty that holds the weights together, and with them the scale.
constexpr double kHolding = 20;

LearnOptions options_with(std::optional<double> min_scale, double lambda = 0.1) {
  LearnOptions options;
  options.lambdas = {lambda};
  options.min_scale = min_scale;
  options.minimize.tolerance = 1e-7;
  options.whiten = true;
  return options;
}

}  // namespace

TEST_CASE("learned scale: where narrow is best it ends at its floor, and nowhere below, for both kinds") {
  for (const PolicyKind kind : {PolicyKind::gaussian, PolicyKind::lognormal}) {
    const LoggedRows rows = logs(kind, 4000, line);
    const LearnedPolicy found = learned(rows, kind, options_with(0.25));
    CHECK(found.search.status == MinimizeStatus::converged);
    CHECK(found.policy.scale >= 0.25);
    CHECK(found.policy.scale < 0.25 * (1 + 1e-6));
    CHECK(found.value.gradient.back() > 0.01);  // it would go on
    CHECK(found.search.gradient_norm < 1e-5);
  }
}

TEST_CASE("learned scale: where a penalty holds it above the floor, it is the best of a grid of fixed scales") {
  for (const PolicyKind kind : {PolicyKind::gaussian, PolicyKind::lognormal}) {
    const LoggedRows rows = logs(kind, 4000, line);
    const LearnedPolicy found = learned(rows, kind, options_with(0.05, kHolding));
    CHECK(found.policy.scale > 0.1);
    CHECK(std::abs(found.value.gradient.back()) < 1e-5);
    double best = 1e300, best_scale = 0;
    for (double factor = 0.8; factor < 1.25; factor *= 1.02) {
      Policy start = found.policy;
      start.scale = factor * found.policy.scale;
      MemorySource source = make_source(rows);
      const LearnedPolicy fixed = learn(source, start, options_with({}, kHolding), {}).policies.front();
      if (fixed.value.objective < best) best_scale = start.scale;
      best = std::min(best, fixed.value.objective);
    }
    CHECK(found.value.objective <= best + 1e-12);
    CHECK(found.policy.scale == doctest::Approx(best_scale).epsilon(0.03));
  }
}

TEST_CASE("learned scale: a search that starts at the floor leaves it where that pays") {
  const LoggedRows rows = logs(PolicyKind::gaussian, 4000, line);
  const LearnOptions options = options_with(0.15, kHolding);
  const double from_above = learned(rows, PolicyKind::gaussian, options).policy.scale;
  CHECK(from_above > 0.2);
  CHECK(learned(rows, PolicyKind::gaussian, options, 0.15).policy.scale > 0.16);
}

TEST_CASE("learned scale: the same bits at any thread count, also when lambda is chosen") {
  const LoggedRows rows = logs(PolicyKind::gaussian, 20'000, line);
  LearnOptions options = options_with(0.2);
  options.lambda_rule = LambdaRule::automatic;
  options.lambdas = {0.1, 1, 10};
  const LearnedPolicy one = learned(rows, PolicyKind::gaussian, options, 0.7, 1);
  const LearnedPolicy seven = learned(rows, PolicyKind::gaussian, options, 0.7, 7);
  CHECK(one.policy.scale == seven.policy.scale);
  CHECK(one.policy.theta == seven.policy.theta);
}

TEST_CASE("learned scale: a bound is one of theta and does not hold the scale") {
  const LoggedRows rows = logs(PolicyKind::gaussian, 4000, line);
  LearnOptions options = options_with(0.6);
  options.minimize.bound = {-0.1, 0.1};
  const LearnedPolicy found = learned(rows, PolicyKind::gaussian, options, 2.0);
  for (const double theta : found.policy.theta) CHECK(std::abs(theta) <= 0.1);
  CHECK(found.policy.theta[0] == 0.1);  // 0.2 would be best
  CHECK(found.policy.scale == doctest::Approx(0.6).epsilon(1e-4));
}

TEST_CASE("learned scale: the units of features change nothing") {
  LoggedRows rows = logs(PolicyKind::gaussian, 3000, line);
  LearnOptions options = options_with(0.05, kHolding);
  options.standardize = true;
  const LearnedPolicy plain = learned(rows, PolicyKind::gaussian, options);
  for (double& x : rows.context) x = 1e4 * x + 3e5;
  const LearnedPolicy raw = learned(rows, PolicyKind::gaussian, options);
  CHECK(raw.value.objective == doctest::Approx(plain.value.objective).epsilon(1e-7));
  CHECK(raw.policy.scale == doctest::Approx(plain.policy.scale).epsilon(1e-4));
}

TEST_CASE("learned scale: points and policies stand for each other, and slopes are those of the point") {
  Policy policy;
  policy.theta = {0.5, -1.0};
  policy.scale = 0.3;
  for (const double unit : {1.0, 64.0}) {
    const SearchCoordinates coordinates(nullptr, unit, 0.1);
    CHECK(coordinates.is_plain() == (unit == 1));
    const std::vector<double> point = coordinates.point_of(policy);
    REQUIRE(point.size() == 3);
    CHECK(point[0] == 0.5 / unit);
    Policy back = policy;
    coordinates.apply(point, back);
    CHECK(back.scale == doctest::Approx(0.3).epsilon(1e-14));
    CHECK(back.theta == policy.theta);
    const double h = 1e-6;
    std::vector<double> above = point, below = point;
    above[2] += h;
    below[2] -= h;
    Policy high, low;
    coordinates.apply(above, high);
    coordinates.apply(below, low);
    const std::vector<double> slope = coordinates.gradient(point, {1, 2, 3});
    CHECK(slope[0] == unit);
    CHECK(slope[1] == 2 * unit);
    CHECK(slope[2] == doctest::Approx(3 * std::log(high.scale / low.scale) / (2 * h)).epsilon(1e-8));
  }
}

TEST_CASE("unit of actions: a power of two near twice the scale, and one for usual scales and other kinds") {
  Policy policy;
  for (const double usual : {0.0625, 0.3, 0.5, 1.0, 4.0}) {
    policy.scale = usual;
    CHECK(unit_of(policy) == 1);
  }
  for (const auto& [scale, unit] : {std::pair{5.1, 8.0}, {5111.7, 8192.0}, {0.0051, 0.0078125}, {1e-300, 0x1p-996}}) {
    policy.scale = scale;
    CHECK(unit_of(policy) == unit);
  }
  policy.kind = PolicyKind::softmax;
  CHECK(unit_of(policy) == 1);
}

TEST_CASE("learned scale: kinds without one, and a floor of zero, are refused by name") {
  Schema schema;
  schema.action_kind = ActionKind::categorical;
  schema.num_actions = 3;
  schema.features = 1;
  const LoggedRows classes = random_rows(schema, 50, 1);
  CHECK_THROWS_WITH_AS(learned(classes, PolicyKind::softmax, options_with(0.1)),
                       doctest::Contains("the scale of softmax policies cannot be learned"), Error);
  const LoggedRows rows = logs(PolicyKind::gaussian, 50, line);
  CHECK_THROWS_WITH_AS(learned(rows, PolicyKind::gaussian, options_with(0.0)),
                       doctest::Contains("the least scale is 0"), Error);
}
