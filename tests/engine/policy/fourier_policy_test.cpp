// labels: fast threads
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/learn/objective.hpp"
#include "scrm/engine/pass/fourier_source.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr std::int64_t kInputs = 5, kWidth = 21;

FourierFeatures map_of() {
  return {.width = kWidth, .bandwidth = 1.3, .seed = 9, .centre = {0.1, 0.2, 0.3, 0, -1}, .spread = {1, 2, 0.5, 1, 3}};
}

Policy fourier_policy(PolicyKind kind, const Schema& schema, std::uint64_t seed) {
  Schema wide = schema;
  wide.features += kWidth;
  const bool mixed = kind == PolicyKind::softmax || kind == PolicyKind::multilabel;
  return as_fourier(random_policy(kind, wide, seed, FeatureMap::linear, mixed ? 0.1 : 0, Mixing::label), map_of());
}

/// Mean of w (y − shift), by evaluating the policy itself on the rows as they are.
double ips(const LoggedRows& rows, const Policy& policy) {
  MemorySource source = make_source(rows);
  EvaluateOptions options;
  options.estimators = {"ips"};
  const std::vector<NamedPolicy> policies = {{"p", make_target_policy(policy, rows.schema, "p")}};
  return evaluate(source, policies, options, {}).policies.front().estimates.front().value.value();
}

}  // namespace

TEST_CASE("fourier policies: the linear policy of a FourierSource, for every kind and both types") {
  for (const PolicyKind kind :
       {PolicyKind::gaussian, PolicyKind::lognormal, PolicyKind::softmax, PolicyKind::multilabel}) {
    for (const FloatType type : {FloatType::f64, FloatType::f32}) {
      CAPTURE(std::string(kind.name()));
      Schema schema = schema_for(kind, kInputs, false, type);
      LoggedRows rows = random_rows(schema, 2500, 3, 0.3);
      if (kind == PolicyKind::lognormal) {
        for (double& action : rows.action) action = std::exp(action);
      }
      MemorySource plain = make_source(rows);
      FourierSource expanded(plain, map_of());
      CHECK(expanded.schema().features == kInputs + kWidth);
      const Policy policy = fourier_policy(kind, schema, 5);
      EvaluateOptions options;
      options.alpha = 0.01;
      options.clip = 3.0;
      const auto values = [&](Source& source, const Policy& one) {
        const std::vector<NamedPolicy> policies = {{"p", make_target_policy(one, source.schema(), "p")}};
        return evaluate(source, policies, options, {}).policies.front().estimates;
      };
      const auto here = values(plain, policy), there = values(expanded, as_linear(policy));
      REQUIRE(here.size() == there.size());
      for (std::size_t e = 0; e < here.size(); ++e) {
        CHECK(here[e].value.value() == doctest::Approx(there[e].value.value()).epsilon(1e-11));
        CHECK(here[e].standard_error.value() == doctest::Approx(there[e].standard_error.value()).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("fourier policies: gradients of learning are differences of what evaluating says") {
  for (const PolicyKind kind :
       {PolicyKind::gaussian, PolicyKind::lognormal, PolicyKind::softmax, PolicyKind::multilabel}) {
    CAPTURE(std::string(kind.name()));
    const Schema schema = schema_for(kind, kInputs);
    LoggedRows rows = random_rows(schema, 400, 7, 0.3);
    if (kind == PolicyKind::lognormal) {
      for (double& action : rows.action) action = std::exp(action);
    }
    MemorySource plain = make_source(rows);
    FourierSource expanded(plain, map_of());
    const Policy policy = fourier_policy(kind, schema, 11);
    ObjectiveProblem problem{as_linear(policy), {}, nullptr};
    problem.rules.estimator = &kIpsEstimator;
    const ObjectiveValue value = evaluate_objectives(expanded, {problem}, {}).front();
    CHECK(value.objective == doctest::Approx(ips(rows, policy)).epsilon(1e-11));
    double largest = 0;
    for (const double slope : value.gradient) largest = std::max(largest, std::abs(slope));
    REQUIRE(value.gradient.size() == policy.theta.size());
    constexpr double kStep = 1e-5;
    for (std::size_t j = 0; j < policy.theta.size(); ++j) {
      CAPTURE(j);
      Policy above = policy, below = policy;
      above.theta[j] += kStep;
      below.theta[j] -= kStep;
      const double slope = (ips(rows, above) - ips(rows, below)) / (2 * kStep);
      CHECK(std::abs(value.gradient[j] - slope) <= 1e-6 * largest);
    }
  }
}

TEST_CASE("fourier policies: the map of a source is that of its rows, on any number of threads") {
  Schema schema = schema_for(PolicyKind::softmax, 3);
  LoggedRows rows = random_rows(schema, 9000, 3, 0.3);
  for (std::size_t i = 0; i < 9000; ++i) {
    rows.context[3 * i + 1] = 1e9 + 5 * rows.context[3 * i + 1];
    rows.context[3 * i + 2] = 4;  // never varies
  }
  MemorySource source = make_source(rows);
  PassOptions one, seven;
  one.threads = 1;
  seven.threads = 7;
  const FourierFeatures map = standardized_fourier(source, 10, 0, 3, one, false);
  const FourierFeatures again = standardized_fourier(source, 10, 0, 3, seven, false);
  CHECK(map.centre == again.centre);
  CHECK(map.spread == again.spread);
  CHECK(map.bandwidth == doctest::Approx(std::sqrt(3.0)));
  CHECK(std::abs(map.centre[1] - 1e9) < 0.3);
  CHECK(map.spread[0] == doctest::Approx(1).epsilon(0.05));
  CHECK(map.spread[1] == doctest::Approx(5).epsilon(0.05));
  CHECK(map.centre[2] == 4);
  CHECK(map.spread[2] == 1);
}

TEST_CASE("fourier policies: what has no such features says so") {
  const Schema sparse = schema_for(PolicyKind::softmax, kInputs, true),
               dense = schema_for(PolicyKind::softmax, kInputs);
  const Policy policy = fourier_policy(PolicyKind::softmax, dense, 1);
  CHECK_THROWS_WITH_AS(make_target_policy(policy, sparse, "p"), doctest::Contains("sparse"), Error);
  CHECK_THROWS_WITH_AS(with_fourier_features(sparse, map_of()), doctest::Contains("sparse"), Error);
  Schema bare = dense;
  bare.features = 0;
  CHECK_THROWS_WITH_AS(with_fourier_features(bare, map_of()), doctest::Contains("no"), Error);
  Schema wider = dense;
  wider.features += 1;
  CHECK_THROWS_WITH_AS(make_target_policy(policy, wider, "p"), doctest::Contains("21 fourier features"), Error);
  Policy odd = policy;
  odd.fourier.spread.pop_back();
  CHECK_THROWS_WITH_AS(make_target_policy(odd, dense, "p"), doctest::Contains("4 numbers"), Error);
  MemorySource source = make_source(random_rows(dense, 50, 3, 0.3));
  CHECK_THROWS_WITH_AS(learn(source, policy, {}, {}), doctest::Contains("FourierSource"), Error);
}
