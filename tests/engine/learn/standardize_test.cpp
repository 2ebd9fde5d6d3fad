// labels: fast
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "learn/features/context_whitening.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// Rows whose losses depend on action and context, so that there is something to learn.
LoggedRows rows_for(PolicyKind kind, std::int64_t features, bool sparse, std::uint64_t seed) {
  Schema schema = schema_for(kind, features, sparse);
  schema.label_propensity = false;
  schema.propensity = PropensityForm::linear;
  LoggedRows rows = random_rows(schema, 1500, seed, 0.3);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const double x = rows.context[row * static_cast<std::size_t>(features)];
    if (kind == PolicyKind::softmax) rows.loss[row] = (rows.category[row] == (x > 0 ? 1 : 2) ? -1.0 : 0.0);
    for (std::size_t k = 0; kind == PolicyKind::multilabel && k < 3; ++k) {
      if (k == 0) rows.loss[row] = -1;
      rows.loss[row] += rows.bits[3 * row + k] == (x > 0 ? 1 : 0) ? 0.0 : 0.3;
    }
    if (kind == PolicyKind::gaussian) rows.loss[row] = std::pow(rows.action[row] - 0.5 * x, 2) - 2;
  }
  return rows;
}

/// The same rows in other units: x_j becomes scale_j (x_j + 3), over eight decades.
LoggedRows in_other_units(LoggedRows rows, bool shifted) {
  const auto d = static_cast<std::size_t>(rows.schema.features);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows); ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      const double scale = std::pow(10.0, static_cast<double>(j % 9) - 4);
      double& x = rows.context[i * d + j];
      x = scale * (x + (shifted ? 3.0 : 0.0));
    }
  }
  return rows;
}

LearnedPolicy learned(const LoggedRows& rows, PolicyKind kind, FeatureMap map, bool standardize) {
  LearnOptions options;
  options.lambdas = {0.5};
  options.minimize.tolerance = 1e-7;
  options.minimize.max_iterations = 300;
  options.standardize = standardize;
  Policy start = zero_policy(kind, map, rows.schema);
  if (kind != PolicyKind::gaussian) start.epsilon = 0.1;
  MemorySource source = make_source(rows);
  return learn(source, start, options, {}).policies.front();
}

}  // namespace

TEST_CASE("standardize: the units of features change nothing of what is learned") {
  struct Case {
    PolicyKind kind;
    FeatureMap map;
    std::int64_t features;
    bool sparse;
  };
  for (const Case& one : std::vector<Case>{{PolicyKind::softmax, FeatureMap::linear, 4, false},
                                           {PolicyKind::softmax, FeatureMap::linear, 80, false},
                                           {PolicyKind::softmax, FeatureMap::linear, 6, true},
                                           {PolicyKind::softmax, FeatureMap::quadratic, 3, false},
                                           {PolicyKind::multilabel, FeatureMap::linear, 5, false},
                                           {PolicyKind::gaussian, FeatureMap::quadratic, 3, false}}) {
    CAPTURE(std::string(one.kind.name()));
    CAPTURE(one.features);
    CAPTURE(one.sparse);
    const LoggedRows plain = rows_for(one.kind, one.features, one.sparse, 7);
    const LoggedRows raw = in_other_units(plain, !one.sparse && one.map == FeatureMap::linear);
    const LearnedPolicy here = learned(plain, one.kind, one.map, true);
    const LearnedPolicy there = learned(raw, one.kind, one.map, true);
    // Not equal: where there are several minima, the search in θ's own coordinates may find a lower one.
    CHECK(there.value.objective < here.value.objective + 2e-3);
    CHECK(there.search.status == MinimizeStatus::converged);
    // What stood in the way: without it, the same rows in raw units end higher.
    const LearnedPolicy stuck = learned(raw, one.kind, one.map, false);
    if (one.kind != PolicyKind::gaussian) CHECK(stuck.value.objective > there.value.objective + 0.01);
  }
}

TEST_CASE("standardize: there and back is where one was, and gradients turn with the coordinates") {
  for (const bool sparse : {false, true}) {
    CAPTURE(sparse);
    const LoggedRows rows = in_other_units(rows_for(PolicyKind::softmax, 70, sparse, 11), !sparse);
    MemorySource source = make_source(rows);
    const Policy policy = random_policy(PolicyKind::softmax, rows.schema, 13);
    const auto white = ContextWhitening::make(source, policy, 0.0, true, {});
    REQUIRE(white.has_value());
    const std::vector<double> psi = white->to_psi(policy.theta), back = white->to_theta(psi);
    REQUIRE(back.size() == policy.theta.size());
    for (std::size_t j = 0; j < back.size(); ++j)
      CHECK(back[j] == doctest::Approx(policy.theta[j]).scale(1).epsilon(1e-6));
    std::vector<double> a;
    for (std::size_t j = 0; j < psi.size(); ++j) a.push_back(std::sin(static_cast<double>(j) + 1));
    const std::vector<double> gradient = white->gradient(a);
    for (std::size_t j = 0; j < psi.size(); j += 7) {
      std::vector<double> unit(psi.size());
      unit[j] = 1;
      const std::vector<double> moved = white->to_theta(unit);
      double change = 0;
      for (std::size_t k = 0; k < a.size(); ++k) change += a[k] * moved[k];
      CHECK(gradient[j] == doctest::Approx(change).epsilon(1e-9));
    }
    // A feature's own step in ψ moves the score by one standard deviation of that feature.
    std::vector<double> unit(psi.size());
    unit[3] = 1;
    Policy step = policy;
    step.theta = white->to_theta(unit);
    double mean = 0, square = 0;
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      const auto score = static_cast<double>(row_scores(step, rows, i)[0]);
      mean += score / static_cast<double>(rows.rows);
      square += score * score / static_cast<double>(rows.rows);
    }
    CHECK(mean == doctest::Approx(0).scale(1).epsilon(1e-6));
    CHECK(square == doctest::Approx(1).epsilon(1e-6));
  }
}
