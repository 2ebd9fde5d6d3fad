// labels: fast threads
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/learn/objective.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/file/error.hpp"
#include "support/reference/log_smoothing.hpp"
#include "support/rows/replayed_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

const Estimator* const kEstimators[] = {&kIpsEstimator,   &kClippedEstimator, &kSnipsEstimator,
                                        &kIpsIxEstimator, &kLogSmoothing,     &kAdditiveEstimator};

Schema bits_schema(std::int64_t features, int labels, bool sparse) {
  Schema schema;
  schema.action_kind = ActionKind::multilabel;
  schema.num_actions = labels;
  schema.features = features;
  schema.sparse = sparse;
  schema.propensity = PropensityForm::logarithm;
  schema.label_propensity = true;
  return schema;
}

ObjectiveProblem problem_for(const Policy& policy, const Estimator* estimator, double lambda) {
  ObjectiveProblem problem{policy, {}, nullptr};
  problem.rules.estimator = estimator;
  problem.rules.lambda = lambda;
  problem.rules.l2 = 0.01;
  problem.rules.alpha = 0.05;
  problem.rules.clip = 1.5;
  problem.rules.mean_loss = -0.4;
  return problem;
}

/// Sums over replays are added up in another order, so bits differ; a few hundred roundings are below 1e-12.
void check_close(const ObjectiveValue& actual, const ObjectiveValue& expected) {
  constexpr double kTolerance = 1e-12;
  CHECK(relative_error(actual.objective, expected.objective) <= kTolerance);
  CHECK(relative_error(actual.risk, expected.risk) <= kTolerance);
  CHECK(relative_error(actual.variance, expected.variance) <= kTolerance);
  CHECK(relative_error(actual.penalty, expected.penalty, 1e-300L + std::abs(expected.penalty)) <= kTolerance);
  CHECK(actual.rows == expected.rows);
  CHECK(actual.ess.has_value() == expected.ess.has_value());
  if (actual.ess && expected.ess) CHECK(relative_error(*actual.ess, *expected.ess) <= kTolerance);
  REQUIRE(actual.gradient.size() == expected.gradient.size());
  long double largest = 0;
  for (const double g : expected.gradient) largest = std::max<long double>(largest, std::abs(g));
  Worst worst;
  for (std::size_t j = 0; j < actual.gradient.size(); ++j) {
    worst.add(static_cast<std::int64_t>(j), relative_error(actual.gradient[j], expected.gradient[j], largest));
  }
  CAPTURE(worst.place);
  CHECK(worst.error <= kTolerance);
}

bool same_bits(const ObjectiveValue& a, const ObjectiveValue& b) {
  return a.objective == b.objective && a.risk == b.risk && a.variance == b.variance && a.penalty == b.penalty &&
         a.gradient == b.gradient;
}

/// A last block that is not full, unless a context takes all of it.
std::int64_t awkward_rows(int replays) {
  return 2 * kBlockRows + (replays == kBlockRows ? kBlockRows : 37 * replays);
}

}  // namespace

TEST_CASE("replay: contexts held once give every objective and gradient of the same rows spelled out") {
  for (const int replays : {1, 2, 4, kBlockRows}) {
    for (const bool sparse : {false, true}) {
      const Schema schema = bits_schema(7, 3, sparse);
      const LoggedRows rows = replayed_rows(schema, awkward_rows(replays), replays, 3);
      MemorySource apart = make_source(rows), shared = shared_source(rows, replays);
      REQUIRE(shared.rows() == apart.rows());
      std::vector<ObjectiveProblem> problems;
      for (const Mixing mixing : {Mixing::joint, Mixing::label}) {
        for (const double epsilon : {0.0, 0.1}) {
          const Policy policy = random_policy(PolicyKind::multilabel, schema, 5, FeatureMap::linear, epsilon, mixing);
          for (const Estimator* estimator : kEstimators) {
            for (const double lambda : {0.0, 0.7}) problems.push_back(problem_for(policy, estimator, lambda));
          }
        }
      }
      const auto actual = evaluate_objectives(shared, problems, {});
      const auto expected = evaluate_objectives(apart, problems, {});
      for (std::size_t p = 0; p < problems.size(); ++p) {
        CAPTURE(replays);
        CAPTURE(sparse);
        CAPTURE(problems[p].rules.estimator->name);
        CAPTURE(problems[p].policy.epsilon);
        CAPTURE(static_cast<int>(problems[p].policy.mixing));
        check_close(actual[p], expected[p]);
      }
    }
  }
}

TEST_CASE("replay: no feature, one, many and one or 64 labels") {
  struct Shape {
    std::int64_t features;
    int labels;
  };
  for (const Shape& shape : {Shape{0, 1}, Shape{0, 5}, Shape{1, 1}, Shape{1, 64}, Shape{300, 2}}) {
    for (const bool sparse : {false, true}) {
      for (const int replays : {2, 8}) {
        const Schema schema = bits_schema(shape.features, shape.labels, sparse);
        const LoggedRows rows = replayed_rows(schema, kBlockRows + 5 * replays, replays, 11);
        MemorySource apart = make_source(rows), shared = shared_source(rows, replays);
        Policy policy = random_policy(PolicyKind::multilabel, schema, 13, FeatureMap::linear, 0.1, Mixing::label);
        for (double& theta : policy.theta) theta *= 0.1;  // 64 ratios multiply up
        for (const Estimator* estimator : {&kSnipsEstimator, &kAdditiveEstimator}) {
          CAPTURE(shape.features);
          CAPTURE(shape.labels);
          CAPTURE(sparse);
          const ObjectiveProblem problem = problem_for(policy, estimator, 0.5);
          check_close(evaluate_objectives(shared, {problem}, {}).front(),
                      evaluate_objectives(apart, {problem}, {}).front());
        }
      }
    }
  }
}

TEST_CASE("replay: twenty labels that are as good as certain and hardly mixed") {
  const Schema schema = bits_schema(2, 20, false);
  const LoggedRows rows = replayed_rows(schema, 400, 4, 15);
  MemorySource apart = make_source(rows), shared = shared_source(rows, 4);
  for (const double epsilon : {1e-3, 1e-15, 1e-30}) {
    Policy policy = random_policy(PolicyKind::multilabel, schema, 21, FeatureMap::linear, epsilon, Mixing::label);
    for (double& theta : policy.theta) theta *= 40;
    ObjectiveProblem problem = problem_for(policy, &kSnipsEstimator, 0.5);
    const ObjectiveValue expected = evaluate_objectives(apart, {problem}, {}).front();
    const ObjectiveValue actual = evaluate_objectives(shared, {problem}, {}).front();
    CAPTURE(epsilon);
    REQUIRE(expected.variance > 0);
    // Logarithms of a hundred and more are exponents here: their rounding counts as often.
    CHECK(relative_error(actual.objective, expected.objective) <= 1e-10);
    CHECK(relative_error(actual.variance, expected.variance) <= 1e-10);
  }
}

TEST_CASE("replay: one context alone in its block, and no rows at all") {
  const Schema schema = bits_schema(3, 2, false);
  const Policy policy = random_policy(PolicyKind::multilabel, schema, 17);
  const ObjectiveProblem problem = problem_for(policy, &kSnipsEstimator, 0.5);
  const LoggedRows rows = replayed_rows(schema, 4, 4, 19);
  MemorySource apart = make_source(rows), shared = shared_source(rows, 4);
  check_close(evaluate_objectives(shared, {problem}, {}).front(), evaluate_objectives(apart, {problem}, {}).front());
  MemorySource none = shared_source(replayed_rows(schema, 0, 4, 19), 4);
  CHECK(evaluate_objectives(none, {problem}, {}).front().rows == 0);
}

TEST_CASE("replay: weights held at the largest one have no gradient, as in the rows spelled out") {
  for (const int replays : {2, 4}) {
    const Schema schema = bits_schema(5, 3, false);
    const LoggedRows rows = replayed_rows(schema, 60 * replays, replays, 13);
    MemorySource apart = make_source(rows), shared = shared_source(rows, replays);
    const Policy policy = random_policy(PolicyKind::multilabel, schema, 17, FeatureMap::linear, 0.1, Mixing::label);
    for (const Estimator* estimator : kEstimators) {
      CAPTURE(estimator->name);
      ObjectiveProblem problem = problem_for(policy, estimator, 0.7);
      problem.rules.weight_cap = 0.8;
      check_close(evaluate_objectives(shared, {problem}, {}).front(),
                  evaluate_objectives(apart, {problem}, {}).front());
    }
  }
}

TEST_CASE("replay: masks count rows, not contexts") {
  for (const bool sparse : {false, true}) {
    const Schema schema = bits_schema(5, 3, sparse);
    const LoggedRows rows = replayed_rows(schema, awkward_rows(4), 4, 23);
    MemorySource apart = make_source(rows), shared = shared_source(rows, 4);
    const RowMask mask = RowMask::random(rows.rows, 0.3, 1, 0);
    const Policy policy = random_policy(PolicyKind::multilabel, schema, 29);
    for (const Estimator* estimator : kEstimators) {
      ObjectiveProblem problem = problem_for(policy, estimator, 0.5);
      problem.rows = &mask;
      check_close(evaluate_objectives(shared, {problem}, {}).front(),
                  evaluate_objectives(apart, {problem}, {}).front());
    }
  }
}

TEST_CASE("replay: softmax policies share contexts too") {
  for (const bool sparse : {false, true}) {
    Schema schema;
    schema.action_kind = ActionKind::categorical;
    schema.num_actions = 4;
    schema.features = 6;
    schema.sparse = sparse;
    const LoggedRows rows = replayed_rows(schema, awkward_rows(2), 2, 31);
    MemorySource apart = make_source(rows), shared = shared_source(rows, 2);
    const Policy policy = random_policy(PolicyKind::softmax, schema, 37, FeatureMap::linear, 0.1);
    for (const Estimator* estimator : {&kIpsIxEstimator, &kSnipsEstimator}) {
      const ObjectiveProblem problem = problem_for(policy, estimator, 0.5);
      check_close(evaluate_objectives(shared, {problem}, {}).front(),
                  evaluate_objectives(apart, {problem}, {}).front());
    }
  }
}

TEST_CASE("replay: the same bits at any thread count") {
  for (const bool sparse : {false, true}) {
    const Schema schema = bits_schema(9, 3, sparse);
    const LoggedRows rows = replayed_rows(schema, 9 * kBlockRows + 16, 4, 41);
    MemorySource shared = shared_source(rows, 4);
    const Policy policy = random_policy(PolicyKind::multilabel, schema, 43, FeatureMap::linear, 0.1, Mixing::label);
    std::vector<ObjectiveProblem> problems;
    for (const Estimator* estimator : kEstimators) problems.push_back(problem_for(policy, estimator, 0.5));
    PassOptions one;
    one.threads = 1;
    const auto first = evaluate_objectives(shared, problems, one);
    for (const int threads : {2, 5}) {
      PassOptions pass;
      pass.threads = threads;
      const auto other = evaluate_objectives(shared, problems, pass);
      for (std::size_t p = 0; p < problems.size(); ++p) CHECK(same_bits(first[p], other[p]));
    }
  }
}

TEST_CASE("replay: scores, densities and weights of every row are those of its context") {
  for (const bool sparse : {false, true}) {
    const Schema schema = bits_schema(70, 3, sparse);
    const LoggedRows rows = replayed_rows(schema, 24, 8, 47);
    MemorySource apart = make_source(rows), shared = shared_source(rows, 8);
    const Policy policy = random_policy(PolicyKind::multilabel, schema, 53, FeatureMap::linear, 0.2, Mixing::label);
    const auto loader = shared.make_loader();
    const auto group = shared.fetch(0, 1);
    Audit audit;
    const Block a = apart.load(*group, 0, *loader, audit), b = shared.load(*group, 0, *loader, audit);
    CHECK(context_rows(b) == 3);
    PolicyScratch scratch, out;
    double* apart_scores = out.columns(0, 6);
    double* shared_scores = apart_scores + 3 * kBlockRows;
    const auto apart_policy = make_target_policy(policy, apart.schema(), "p");
    const auto shared_policy = make_target_policy(policy, shared.schema(), "p");
    const auto check = [&](int columns) {
      for (int k = 0; k < columns; ++k) {
        for (int i = 0; i < 24; ++i) {
          CHECK(relative_error(shared_scores[k * kBlockRows + i], apart_scores[k * kBlockRows + i], 1) < 1e-13);
        }
      }
    };
    apart_policy->scores(a, scratch, apart_scores);
    shared_policy->scores(b, scratch, shared_scores);
    check(3);
    apart_policy->label_probability(a, scratch, apart_scores);
    shared_policy->label_probability(b, scratch, shared_scores);
    check(3);
    apart_policy->log_density(a, scratch, apart_scores);
    shared_policy->log_density(b, scratch, shared_scores);
    check(1);
  }
}

TEST_CASE("replay: learning finds what the rows spelled out teach") {
  const Schema schema = bits_schema(3, 2, false);
  const LoggedRows rows = replayed_rows(schema, 2400, 4, 59);
  MemorySource apart = make_source(rows), shared = shared_source(rows, 4);
  const Policy start = random_policy(PolicyKind::multilabel, schema, 61, FeatureMap::linear, 0.1, Mixing::label);
  for (const Estimator* estimator : {&kAdditiveEstimator, &kClippedEstimator}) {
    LearnOptions options;
    options.rules.estimator = estimator;
    options.rules.l2 = 0.01;  // one optimum, and a bowl around it
    options.lambdas = {1.0};
    options.whiten = true;
    const LearnedPolicy a = learn(apart, start, options, {}).policies.front();
    const LearnedPolicy b = learn(shared, start, options, {}).policies.front();
    CHECK(b.value.objective == doctest::Approx(a.value.objective).epsilon(1e-9));
  }
}

TEST_CASE("replay: what cannot share contexts is refused, not computed wrongly") {
  Schema schema = bits_schema(3, 2, false);
  schema.replays = 4;
  Policy policy = random_policy(PolicyKind::multilabel, schema, 67, FeatureMap::quadratic);
  CHECK_THROWS_WITH_AS(make_target_policy(policy, schema, "p"), doctest::Contains("share contexts"), Error);
  policy = random_policy(PolicyKind::multilabel, schema, 67);
  CHECK_NOTHROW(make_target_policy(policy, schema, "p"));
  schema.context_type = FloatType::f32;
  CHECK_THROWS_WITH_AS(make_target_policy(policy, schema, "p"), doctest::Contains("share contexts"), Error);
  Schema continuous;
  continuous.replays = 2;
  CHECK_THROWS_WITH_AS(make_target_policy(random_policy(PolicyKind::gaussian, continuous, 71), continuous, "p"),
                       doctest::Contains("p: rows that share contexts need a softmax or multilabel policy"), Error);
  // Leaving single rows out would tear groups apart.
  const LoggedRows rows = replayed_rows(bits_schema(3, 2, false), 64, 4, 73);
  MemorySource shared = shared_source(rows, 4);
  const RowMask some = RowMask::random(64, 0.5, 1, 0);
  LearnOptions options;
  options.rules.estimator = &kClippedEstimator;
  options.rows = &some;
  CHECK_THROWS_WITH_AS(learn(shared, policy, options, {}), doctest::Contains("share contexts"), Error);
  options.clip = 2.0;
  CHECK_NOTHROW(learn(shared, policy, options, {}));
}
