// labels: fast
#include "scrm/engine/learn/objective.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "support/reference/reference_objective.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

ObjectiveProblem problem_for(const Policy& policy, const Estimator* estimator, const LoggedRows& rows) {
  ObjectiveProblem problem{policy, {}, nullptr};
  problem.rules.estimator = estimator;
  problem.rules.lambda = 0.7;
  problem.rules.l2 = 0.01;
  problem.rules.alpha = 0.05;
  problem.rules.clip = 1.5;
  double sum = 0;
  for (const double y : rows.loss) sum += y;
  problem.rules.mean_loss = sum / static_cast<double>(rows.rows);
  problem.rules.smoothing = 0.2;
  problem.rules.largest_loss = *std::max_element(rows.loss.begin(), rows.loss.end());
  return problem;
}

/// Value to 1e-11 of its scale, gradient to 1e-6 of the largest component: what central differences can tell.
void check_against_reference(const ObjectiveProblem& problem, const LoggedRows& rows) {
  MemorySource source = make_source(rows);
  const ObjectiveValue value = evaluate_objectives(source, {problem}, {}).front();
  const ReferenceObjective expected = reference_objective(problem, rows);
  CHECK(value.objective == doctest::Approx(static_cast<double>(expected.objective)).epsilon(1e-11));
  CHECK(value.risk == doctest::Approx(static_cast<double>(expected.risk)).epsilon(1e-11));
  CHECK(value.variance == doctest::Approx(static_cast<double>(expected.variance)).epsilon(1e-11));
  const std::vector<double> slope = reference_gradient(problem, rows);
  double largest = 1e-300;
  for (const double g : slope) largest = std::max(largest, std::abs(g));
  REQUIRE(value.gradient.size() == slope.size());
  for (std::size_t j = 0; j < slope.size(); ++j) {
    CAPTURE(j);
    CHECK(std::abs(value.gradient[j] - slope[j]) <= 1e-6 * largest);
  }
}

/// Sets the largest weight, and makes sure that some weights are above it: the risk is another one.
void require_held_weights(ObjectiveProblem& problem, const LoggedRows& rows, double weight_cap) {
  const auto free = static_cast<double>(reference_objective(problem, rows).risk);
  problem.rules.weight_cap = weight_cap;
  const auto held = static_cast<double>(reference_objective(problem, rows).risk);
  REQUIRE(std::abs(held - free) > 1e-3 * std::abs(free));
}

const Estimator* const kActionEstimators[] = {&kIpsEstimator,   &kClippedEstimator, &kSnipsEstimator,
                                              &kIpsIxEstimator, &kLogSmoothing,     &kLogSmoothingEstimator};

}  // namespace

TEST_CASE("objective: value and gradient agree with long-double differences for every policy, estimator and map") {
  for (const PolicyKind kind :
       {PolicyKind::gaussian, PolicyKind::lognormal, PolicyKind::softmax, PolicyKind::multilabel}) {
    for (const bool sparse : {false, true}) {
      for (const FeatureMap map : {FeatureMap::linear, FeatureMap::quadratic}) {
        const Schema schema = schema_for(kind, 3, sparse);
        const LoggedRows rows = random_rows(schema, 60, 7);
        const Policy policy = random_policy(kind, schema, 11, map);
        for (const Estimator* estimator : kActionEstimators) {
          CAPTURE(std::string(kind.name()));
          CAPTURE(sparse);
          CAPTURE(static_cast<int>(map));
          CAPTURE(estimator->name);
          check_against_reference(problem_for(policy, estimator, rows), rows);
        }
      }
    }
  }
}

TEST_CASE("objective: centred losses agree with long-double differences for every kind, estimator and map") {
  for (const PolicyKind kind : {PolicyKind::gaussian, PolicyKind::lognormal, PolicyKind::softmax}) {
    for (const FeatureMap map : {FeatureMap::linear, FeatureMap::quadratic}) {
      const Schema schema = schema_for(kind, 3);
      const LoggedRows rows = random_rows(schema, 60, 7);
      for (const Estimator* estimator : kActionEstimators) {
        CAPTURE(std::string(kind.name()));
        CAPTURE(static_cast<int>(map));
        CAPTURE(estimator->name);
        ObjectiveProblem problem = problem_for(random_policy(kind, schema, 11, map), estimator, rows);
        problem.rules.centre_losses = true;
        check_against_reference(problem, rows);
      }
    }
  }
}

TEST_CASE("objective: the derivative by log scale agrees for both kinds, every estimator, map, penalty and mask") {
  for (const PolicyKind kind : {PolicyKind::gaussian, PolicyKind::lognormal}) {
    for (const FeatureMap map : {FeatureMap::linear, FeatureMap::quadratic}) {
      for (const std::int64_t n : {60, 2100}) {
        const Schema schema = schema_for(kind, 3);
        const LoggedRows rows = random_rows(schema, n, 7);
        const RowMask mask = RowMask::random(rows.rows, 0.5, 1, 0);
        for (const Estimator* estimator : kActionEstimators) {
          CAPTURE(std::string(kind.name()));
          CAPTURE(static_cast<int>(map));
          CAPTURE(n);
          CAPTURE(estimator->name);
          ObjectiveProblem problem = problem_for(random_policy(kind, schema, 11, map), estimator, rows);
          problem.rules.scale_gradient = true;
          problem.rules.mean_loss += 0.3;  // a shift of a ratio's losses, which must cancel
          check_against_reference(problem, rows);
          problem.rules.penalty = Penalty::sd;
          problem.rules.weight_cap = 1.2;
          problem.rows = &mask;
          check_against_reference(problem, rows);
        }
      }
    }
  }
}

TEST_CASE("objective: the derivative by log scale changes no bit of the others, and has the same at any thread count") {
  Schema schema = schema_for(PolicyKind::lognormal, 5);
  const LoggedRows rows = random_rows(schema, 9000, 3);
  ObjectiveProblem problem = problem_for(random_policy(PolicyKind::lognormal, schema, 5), &kSnipsEstimator, rows);
  MemorySource source = make_source(rows);
  const std::vector<double> plain = evaluate_objectives(source, {problem}, {}).front().gradient;
  problem.rules.scale_gradient = true;
  PassOptions one, seven;
  one.threads = 1;
  seven.threads = 7;
  std::vector<double> gradient = evaluate_objectives(source, {problem}, one).front().gradient;
  CHECK(evaluate_objectives(source, {problem}, seven).front().gradient == gradient);
  gradient.pop_back();
  CHECK(gradient == plain);
}

TEST_CASE("objective: epsilon is differentiated through, joint and per label") {
  for (const Mixing mixing : {Mixing::joint, Mixing::label}) {
    const Schema schema = schema_for(PolicyKind::multilabel, 3);
    const LoggedRows rows = random_rows(schema, 60, 3);
    const Policy policy = random_policy(PolicyKind::multilabel, schema, 5, FeatureMap::linear, 0.1, mixing);
    check_against_reference(problem_for(policy, &kIpsIxEstimator, rows), rows);
    check_against_reference(problem_for(policy, &kSnipsEstimator, rows), rows);
  }
  const Schema schema = schema_for(PolicyKind::softmax, 3);
  const LoggedRows rows = random_rows(schema, 60, 3);
  check_against_reference(
      problem_for(random_policy(PolicyKind::softmax, schema, 5, FeatureMap::linear, 0.1), &kIpsIxEstimator, rows),
      rows);
}

TEST_CASE("objective: weights held at the largest one have no gradient") {
  const Schema schema = schema_for(PolicyKind::gaussian, 3);
  const LoggedRows rows = random_rows(schema, 60, 7);
  for (const FeatureMap map : {FeatureMap::linear, FeatureMap::quadratic}) {
    for (const Estimator* estimator : kActionEstimators) {
      CAPTURE(estimator->name);
      ObjectiveProblem problem = problem_for(random_policy(PolicyKind::gaussian, schema, 11, map), estimator, rows);
      require_held_weights(problem, rows, 0.4);
      check_against_reference(problem, rows);
    }
  }
}

TEST_CASE("objective: weights held at the largest one have no gradient with many actions either") {
  Schema schema = schema_for(PolicyKind::softmax, 3);
  schema.num_actions = 40;  // gradients go through tiles of actions
  const LoggedRows rows = random_rows(schema, 60, 7);
  for (const Estimator* estimator : kActionEstimators) {
    CAPTURE(estimator->name);
    ObjectiveProblem problem = problem_for(random_policy(PolicyKind::softmax, schema, 11), estimator, rows);
    require_held_weights(problem, rows, 0.1);
    check_against_reference(problem, rows);
  }
}

TEST_CASE("objective: additive agrees with long-double differences, dense and sparse, with and without epsilon") {
  for (const bool sparse : {false, true}) {
    for (const double epsilon : {0.0, 0.1}) {
      const Schema schema = schema_for(PolicyKind::multilabel, 4, sparse);
      const LoggedRows rows = random_rows(schema, 60, 17);
      const Policy policy =
          random_policy(PolicyKind::multilabel, schema, 19, FeatureMap::linear, epsilon, Mixing::label);
      check_against_reference(problem_for(policy, &kAdditiveEstimator, rows), rows);
    }
  }
}

TEST_CASE("objective: extreme parameters give finite gradients that still agree") {
  const Schema schema = schema_for(PolicyKind::multilabel, 3);
  const LoggedRows rows = random_rows(schema, 60, 23);
  Policy policy = random_policy(PolicyKind::multilabel, schema, 29);
  for (double& theta : policy.theta) theta *= 100;
  check_against_reference(problem_for(policy, &kAdditiveEstimator, rows), rows);
  Policy far = random_policy(PolicyKind::gaussian, schema_for(PolicyKind::gaussian, 3), 31);
  far.theta[0] = 30;
  const LoggedRows continuous = random_rows(schema_for(PolicyKind::gaussian, 3), 60, 37);
  MemorySource source = make_source(continuous);
  const ObjectiveValue value =
      evaluate_objectives(source, {problem_for(far, &kIpsIxEstimator, continuous)}, {}).front();
  for (const double g : value.gradient) {
    CHECK(std::isfinite(g));
  }
}

TEST_CASE("objective: odd shapes agree: no features, one feature, one row past a block, float32, many labels") {
  for (const std::int64_t features : {0, 1, 5}) {
    for (const std::int64_t n : {2, 7, 2049}) {
      const Schema schema = schema_for(PolicyKind::gaussian, features, false, FloatType::f32);
      const LoggedRows rows = random_rows(schema, n, 41);
      CAPTURE(features);
      CAPTURE(n);
      check_against_reference(problem_for(random_policy(PolicyKind::gaussian, schema, 43), &kIpsIxEstimator, rows),
                              rows);
    }
  }
  Schema wide = schema_for(PolicyKind::multilabel, 70, false, FloatType::f32);
  wide.num_actions = 9;
  const LoggedRows rows = random_rows(wide, 40, 47);
  check_against_reference(problem_for(random_policy(PolicyKind::multilabel, wide, 53), &kAdditiveEstimator, rows),
                          rows);
}

TEST_CASE("objective: many actions, whose derivatives come a few rows at a time, agree with long-double differences") {
  const auto check = [](int actions, std::int64_t features, std::int64_t n, FeatureMap map, FloatType type,
                        double epsilon, const Estimator* estimator) {
    CAPTURE(actions);
    CAPTURE(features);
    CAPTURE(n);
    CAPTURE(estimator->name);
    Schema schema = schema_for(PolicyKind::softmax, features, false, type);
    schema.num_actions = actions;
    const LoggedRows rows = random_rows(schema, n, 73);
    const Policy policy = random_policy(PolicyKind::softmax, schema, 79, map, epsilon);
    ObjectiveProblem problem = problem_for(policy, estimator, rows);
    check_against_reference(problem, rows);
    const RowMask mask = RowMask::random(rows.rows, 0.3, 1, 0);
    problem.rows = &mask;
    check_against_reference(problem, rows);
  };
  for (const Estimator* estimator : kActionEstimators) {
    check(33, 3, 70, FeatureMap::linear, FloatType::f64, 0, estimator);
  }
  check(45, 0, 40, FeatureMap::linear, FloatType::f64, 0.1, &kIpsIxEstimator);
  check(40, 20, 33, FeatureMap::linear, FloatType::f32, 0.1, &kSnipsEstimator);
  check(34, 5, 65, FeatureMap::quadratic, FloatType::f64, 0, &kIpsIxEstimator);
}

namespace {

/// ∂/∂θ of mean(w y) for a softmax policy, by the formula: w y s (1[a = k] − p_k) (1, x), s the part of π that is not
/// ε's.
std::vector<long double> formula_gradient(const Policy& policy, const LoggedRows& rows) {
  const std::int64_t d = rows.schema.features, width = 1 + d;
  const int actions = policy.outputs;
  std::vector<long double> gradient(policy.theta.size());
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const double* x = rows.context.data() + i * d;
    std::vector<long double> p(static_cast<std::size_t>(actions));
    long double sum = 0;
    for (int k = 0; k < actions; ++k) {
      long double score = policy.theta[static_cast<std::size_t>(k * width)];
      for (std::int64_t j = 0; j < d; ++j)
        score += static_cast<long double>(policy.theta[static_cast<std::size_t>(k * width + 1 + j)]) * x[j];
      sum += p[static_cast<std::size_t>(k)] = std::exp(score);
    }
    const auto at = static_cast<std::size_t>(i);
    const int a = rows.category[at];
    const long double own = (1 - policy.epsilon) * p[static_cast<std::size_t>(a)] / sum;
    const long double mixed = own + static_cast<long double>(policy.epsilon) / actions;
    const long double factor = mixed / rows.propensity[at] * rows.loss[at] * (own / mixed) / rows.rows;
    for (int k = 0; k < actions; ++k) {
      const long double slope = factor * ((k == a ? 1 : 0) - p[static_cast<std::size_t>(k)] / sum);
      for (std::int64_t j = 0; j < width; ++j) {
        gradient[static_cast<std::size_t>(k * width + j)] += slope * (j == 0 ? 1.0L : x[j - 1]);
      }
    }
  }
  return gradient;
}

}  // namespace

TEST_CASE("objective: gradients of any number of actions, features and rows equal the formula") {
  struct Shape {
    int actions;
    std::int64_t features, rows;
  };
  for (const Shape& shape : {Shape{2, 7, 70},
                             {31, 7, 70},
                             {33, 1, 1},
                             {64, 0, 65},
                             {90, 23, 64},
                             {121, 24, 33},
                             {130, 47, 2049},
                             {130, 100, 130},
                             {40, 256, 40},
                             {40, 257, 40},
                             {33, 2000, 3},
                             {4000, 7, 35},
                             {10000, 3, 5}}) {
    for (const FloatType type : {FloatType::f64, FloatType::f32}) {
      for (const double epsilon : {0.0, 0.1}) {
        CAPTURE(shape.actions);
        CAPTURE(shape.features);
        CAPTURE(shape.rows);
        CAPTURE(epsilon);
        Schema schema = schema_for(PolicyKind::softmax, shape.features, false, type);
        schema.num_actions = shape.actions;
        const LoggedRows rows = random_rows(schema, shape.rows, 97);
        ObjectiveProblem problem{
            random_policy(PolicyKind::softmax, schema, 101, FeatureMap::linear, epsilon), {}, nullptr};
        problem.rules.estimator = &kIpsEstimator;
        MemorySource source = make_source(rows);
        const std::vector<double> found = evaluate_objectives(source, {problem}, {}).front().gradient;
        const std::vector<long double> expected = formula_gradient(problem.policy, rows);
        long double largest = 0;
        for (const long double g : expected) largest = std::max(largest, std::abs(g));
        Worst worst;
        for (std::size_t j = 0; j < found.size(); ++j) {
          worst.add(static_cast<std::int64_t>(j), relative_error(found[j], expected[j], largest));
        }
        CAPTURE(worst.place);
        // A score rounds in units of the sum of its terms' sizes, some √features here.
        CHECK(worst.error < 1e-15 * (20 + 2 * std::sqrt(static_cast<double>(shape.features))));
      }
    }
  }
}

TEST_CASE("objective: many actions give the same bits at any thread count, and no row that is left out matters") {
  Schema schema = schema_for(PolicyKind::softmax, 4);
  schema.num_actions = 50;
  LoggedRows rows = random_rows(schema, 5000, 83);
  ObjectiveProblem problem = problem_for(random_policy(PolicyKind::softmax, schema, 89), &kIpsIxEstimator, rows);
  const RowMask mask = RowMask::random(rows.rows, 0.3, 1, 0);
  problem.rows = &mask;
  const auto value = [&](int threads) {
    PassOptions options;
    options.threads = threads;
    MemorySource source = make_source(rows);
    return evaluate_objectives(source, {problem}, options).front();
  };
  const ObjectiveValue before = value(1);
  CHECK(value(3).gradient == before.gradient);
  std::vector<std::uint8_t> keep(static_cast<std::size_t>(rows.rows));
  mask.expand(0, static_cast<int>(rows.rows), keep.data());
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] == 0) std::fill_n(rows.context.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, 1e308);
  }
  CHECK(value(1).gradient == before.gradient);
}

TEST_CASE("objective: penalty sd leaves out the root of n, and a mask leaves out rows") {
  const Schema schema = schema_for(PolicyKind::gaussian, 3);
  const LoggedRows rows = random_rows(schema, 5000, 59);
  ObjectiveProblem problem = problem_for(random_policy(PolicyKind::gaussian, schema, 61), &kIpsIxEstimator, rows);
  problem.rules.penalty = Penalty::sd;
  const RowMask mask = RowMask::random(rows.rows, 0.3, 1, 0);
  problem.rows = &mask;
  check_against_reference(problem, rows);
}

TEST_CASE("objective: problems that share a pass get the bits they get alone, at any thread count") {
  const Schema schema = schema_for(PolicyKind::gaussian, 6);
  const LoggedRows rows = random_rows(schema, 200000, 67);
  MemorySource source = make_source(rows);
  std::vector<ObjectiveProblem> problems;
  for (const Estimator* estimator : kActionEstimators) {
    problems.push_back(problem_for(random_policy(PolicyKind::gaussian, schema, 71), estimator, rows));
  }
  PassOptions one;
  one.threads = 1;
  const std::vector<ObjectiveValue> together = evaluate_objectives(source, problems, one);
  for (const int threads : {1, 2, 3, 8}) {
    PassOptions options;
    options.threads = threads;
    for (std::size_t p = 0; p < problems.size(); ++p) {
      const ObjectiveValue alone = evaluate_objectives(source, {problems[p]}, options).front();
      CHECK(alone.objective == together[p].objective);
      CHECK(alone.gradient == together[p].gradient);
    }
  }
}
