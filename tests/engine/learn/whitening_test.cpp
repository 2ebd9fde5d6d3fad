// labels: slow
#include "learn/features/context_whitening.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/learn/minimize.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// What happens to the contexts before rows are logged.
enum class Twist { none, constant, duplicate, scales };

/// Contexts uniform on [1, 2]^d as in pricing, actions around the mean of the first few features, a loss that is lowest
/// a little above it. For lognormal policies the same holds of the action's logarithm.
LoggedRows pricing_rows(std::int64_t n, std::int64_t features, PolicyKind kind, FloatType type, std::uint64_t seed,
                        Twist twist = Twist::none) {
  Schema schema;
  schema.features = features;
  schema.context_type = type;
  LoggedRows rows = random_rows(schema, n, seed);
  std::mt19937_64 random(seed + 1);
  const auto d = static_cast<std::size_t>(features);
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    double* x = rows.context.data() + i * d;
    for (std::size_t j = 0; j < d; ++j) x[j] = static_cast<float>(uniform(random, 1, 2));
    if (twist == Twist::constant) x[d - 1] = 1.5;
    if (twist == Twist::duplicate) x[d - 1] = x[0];
    double mean = 0;
    const std::size_t relevant = std::min<std::size_t>(3, d);
    for (std::size_t j = 0; j < relevant; ++j) mean += x[j] / static_cast<double>(relevant);
    if (twist == Twist::scales) {
      for (std::size_t j = 0; j < d; ++j) x[j] = static_cast<float>(x[j] * std::pow(10.0, static_cast<double>(j % 3)));
    }
    const double z = normal(random), spread = 0.7, centre = kind == PolicyKind::gaussian ? mean : 0.5 * mean;
    const double value = centre + spread * z;
    const double miss = value - 1.2 * centre;
    const double density = std::exp(-z * z / 2) / (spread * std::sqrt(2 * std::numbers::pi));
    rows.action[i] = kind == PolicyKind::gaussian ? value : std::exp(value);
    rows.propensity[i] = kind == PolicyKind::gaussian ? density : density / rows.action[i];
    rows.loss[i] = miss * miss - 3 + 0.1 * normal(random);
  }
  return rows;
}

Policy start_for(PolicyKind kind, const Schema& schema) {
  Policy policy = zero_policy(kind, FeatureMap::linear, schema);
  policy.scale = 0.6;
  policy.theta[0] = kind == PolicyKind::gaussian ? 1.5 : 0.7;
  return policy;
}

LearnOptions options_for(double lambda, double l2 = 0) {
  LearnOptions options;
  options.lambdas = {lambda};
  options.rules.l2 = l2;
  options.minimize.tolerance = 1e-10;
  options.minimize.max_iterations = 5000;
  return options;
}

struct Pair {
  LearnedPolicy plain, white;
};

Pair learn_both(const LoggedRows& rows, PolicyKind kind, LearnOptions options) {
  MemorySource source = make_source(rows);
  const Policy start = start_for(kind, rows.schema);
  options.whiten = false;
  Pair out;
  out.plain = learn(source, start, options, {}).policies.front();
  options.whiten = true;
  out.white = learn(source, start, options, {}).policies.front();
  return out;
}

/// Both searches end in the same valley, so both its height and, where it has one lowest point, its place must agree.
void check_same_optimum(const Pair& both, bool one_point) {
  CHECK(both.white.value.objective == doctest::Approx(both.plain.value.objective).epsilon(1e-6));
  CHECK(both.white.value.risk == doctest::Approx(both.plain.value.risk).epsilon(1e-5));
  CHECK(both.white.search.status == MinimizeStatus::converged);
  // Reported in θ's own coordinates.
  CHECK(both.white.search.gradient_norm < 1e-5);
  REQUIRE(both.white.policy.theta.size() == both.plain.policy.theta.size());
  if (!one_point) return;
  for (std::size_t j = 0; j < both.white.policy.theta.size(); ++j) {
    CAPTURE(j);
    CHECK(both.white.policy.theta[j] == doctest::Approx(both.plain.policy.theta[j]).scale(1).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("whitening: finds the same optimum in fewer evaluations") {
  for (const PolicyKind kind : {PolicyKind::gaussian, PolicyKind::lognormal}) {
    for (const std::int64_t features : {1, 10, 64}) {
      for (const FloatType type : {FloatType::f64, FloatType::f32}) {
        for (const double lambda : {0.0, 1.0}) {
          CAPTURE(std::string(kind.name()));
          CAPTURE(features);
          CAPTURE(lambda);
          const LoggedRows rows = pricing_rows(3000, features, kind, type, 31 + static_cast<std::uint64_t>(features));
          const Pair both = learn_both(rows, kind, options_for(lambda));
          check_same_optimum(both, true);
          CHECK(both.white.search.evaluations < both.plain.search.evaluations);
        }
      }
    }
  }
}

TEST_CASE("whitening: beyond 64 features, with a bound or without a context, nothing changes") {
  const LoggedRows wide = pricing_rows(500, 65, PolicyKind::gaussian, FloatType::f64, 3);
  LearnOptions options = options_for(1.0);
  options.minimize.max_iterations = 30;
  Pair both = learn_both(wide, PolicyKind::gaussian, options);
  CHECK(both.white.policy.theta == both.plain.policy.theta);
  CHECK(both.white.search.evaluations == both.plain.search.evaluations);

  options.minimize.bound = {{-2.0, 2.0}};
  both = learn_both(pricing_rows(500, 4, PolicyKind::gaussian, FloatType::f64, 5), PolicyKind::gaussian, options);
  CHECK(both.white.policy.theta == both.plain.policy.theta);
  for (const double theta : both.white.policy.theta) CHECK(std::abs(theta) <= 2.0);

  LoggedRows bare = pricing_rows(500, 1, PolicyKind::gaussian, FloatType::f64, 7);
  bare.schema.features = 0;
  bare.context.clear();
  both = learn_both(bare, PolicyKind::gaussian, options_for(1.0));
  CHECK(both.white.policy.theta == both.plain.policy.theta);
}

TEST_CASE("whitening: features that are constant or copies of each other do no harm") {
  for (const Twist twist : {Twist::constant, Twist::duplicate}) {
    for (const std::int64_t features : {2, 10}) {
      for (const FloatType type : {FloatType::f64, FloatType::f32}) {
        CAPTURE(static_cast<int>(twist));
        CAPTURE(features);
        const LoggedRows rows = pricing_rows(2000, features, PolicyKind::gaussian, type, 41, twist);
        // Without a ridge every mix of the copies is as good; the height is the same.
        const Pair both = learn_both(rows, PolicyKind::gaussian, options_for(1.0));
        check_same_optimum(both, false);
        for (const double theta : both.white.policy.theta) CHECK(std::abs(theta) < 1e3);
      }
    }
  }
}

TEST_CASE("whitening: with a ridge, copies share what they are worth, as without whitening") {
  for (const Twist twist : {Twist::none, Twist::constant, Twist::duplicate}) {
    for (const double l2 : {1e-4, 1e-2, 1.0}) {
      CAPTURE(static_cast<int>(twist));
      CAPTURE(l2);
      const LoggedRows rows = pricing_rows(2000, 5, PolicyKind::gaussian, FloatType::f64, 43, twist);
      const Pair both = learn_both(rows, PolicyKind::gaussian, options_for(1.0, l2));
      check_same_optimum(both, true);
      CHECK(both.white.search.evaluations < 200);
    }
  }
}

TEST_CASE("whitening: features of very different scale") {
  const LoggedRows rows = pricing_rows(2000, 6, PolicyKind::gaussian, FloatType::f64, 47, Twist::scales);
  const Pair both = learn_both(rows, PolicyKind::gaussian, options_for(1.0));
  // Plain searches hardly get there, so whitening may only be lower.
  CHECK(both.white.value.objective <= both.plain.value.objective + 1e-9);
  const LoggedRows level = pricing_rows(2000, 6, PolicyKind::gaussian, FloatType::f64, 47);
  const Pair same = learn_both(level, PolicyKind::gaussian, options_for(1.0));
  CHECK(both.white.value.objective == doctest::Approx(same.white.value.objective).epsilon(1e-6));
  CHECK(both.white.search.evaluations < both.plain.search.evaluations);
}

TEST_CASE("whitening: lambdas, restarts and held-out splits all search in the same coordinates") {
  const LoggedRows rows = pricing_rows(1500, 10, PolicyKind::gaussian, FloatType::f64, 53);
  MemorySource source = make_source(rows);
  const Policy start = start_for(PolicyKind::gaussian, rows.schema);
  LearnOptions options = options_for(0);
  options.whiten = true;
  options.lambdas = {0.1, 10.0};
  const LearnReport together = learn(source, start, options, {});
  for (std::size_t i = 0; i < 2; ++i) {
    LearnOptions alone = options;
    alone.lambdas = {options.lambdas[i]};
    CHECK(learn(source, start, alone, {}).policies.front().policy.theta == together.policies[i].policy.theta);
  }
  options.lambda_rule = LambdaRule::automatic;
  const LearnReport white = learn(source, start, options, {});
  options.whiten = false;
  const LearnReport plain = learn(source, start, options, {});
  CHECK(white.policies.front().lambda == plain.policies.front().lambda);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(white.scores[i].risk == doctest::Approx(plain.scores[i].risk).epsilon(1e-6));
  }
}

TEST_CASE("whitening: there and back is where one was, and gradients turn with the coordinates") {
  const LoggedRows rows = pricing_rows(3000, 7, PolicyKind::gaussian, FloatType::f32, 59);
  MemorySource source = make_source(rows);
  const Policy policy = random_policy(PolicyKind::gaussian, rows.schema, 61);
  const auto white = ContextWhitening::make(source, policy, 0.0, false, {});
  REQUIRE(white.has_value());
  const std::vector<double> psi = white->to_psi(policy.theta), back = white->to_theta(psi);
  for (std::size_t j = 0; j < back.size(); ++j) CHECK(back[j] == doctest::Approx(policy.theta[j]).epsilon(1e-9));
  // θ·(1, x) has mean square |ψ|² over the rows: that is what white means.
  double square = 0, length = 0;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const double mean = static_cast<double>(row_scores(policy, rows, i)[0]);
    square += mean * mean / static_cast<double>(rows.rows);
  }
  for (const double p : psi) length += p * p;
  CHECK(square == doctest::Approx(length).epsilon(1e-8));
  // A step along e_j of ψ changes any linear function a·θ by the j-th entry of its gradient.
  std::vector<double> a;
  for (std::size_t j = 0; j < psi.size(); ++j) a.push_back(std::sin(static_cast<double>(j) + 1));
  const std::vector<double> gradient = white->gradient(a);
  for (std::size_t j = 0; j < psi.size(); ++j) {
    std::vector<double> unit(psi.size());
    unit[j] = 1;
    const std::vector<double> moved = white->to_theta(unit);
    double change = 0;
    for (std::size_t k = 0; k < a.size(); ++k) change += a[k] * moved[k];
    CHECK(gradient[j] == doctest::Approx(change).scale(1).epsilon(1e-10));
  }
}

TEST_CASE("minimize: a relative decrease ends a search early, close to where it was going") {
  // A narrow bowl: 30 coordinates with curvatures from 1 to 1,000 on top of a height of 5.
  const auto bowl = [](const std::vector<double>& x, std::vector<double>& gradient) {
    double value = 5;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double curvature = std::pow(10.0, 3.0 * static_cast<double>(j) / static_cast<double>(x.size() - 1));
      value += curvature * (x[j] - 1) * (x[j] - 1) / 2;
      gradient[j] = curvature * (x[j] - 1);
    }
    return value;
  };
  const std::vector<double> start(30, 0.0);
  MinimizeOptions options;
  const MinimizeResult full = minimize(bowl, start, options);
  CHECK(full.value == doctest::Approx(5).epsilon(1e-13));
  int last = full.evaluations;
  for (const double share : {1e-10, 1e-6, 1e-2}) {
    CAPTURE(share);
    options.relative_decrease = share;
    const MinimizeResult early = minimize(bowl, start, options);
    CHECK(early.status == MinimizeStatus::converged);
    CHECK(early.evaluations <= last);
    CHECK(early.value >= full.value);
    // L-BFGS gains much the same every few iterations: what is left is not much more than the last gain.
    CHECK(early.value - 5 < 1000 * share * 5);
    last = early.evaluations;
  }
  CHECK(last < full.evaluations / 2);
  options.bound = {{-3.0, 3.0}};
  options.relative_decrease = 1e-6;
  CHECK(minimize(bowl, start, options).evaluations < minimize(bowl, start, {.bound = options.bound}).evaluations);
}
