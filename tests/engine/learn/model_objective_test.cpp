// labels: fast threads
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "learn/model/learning_model.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/learn/objective.hpp"
#include "scrm/io/file/error.hpp"
#include "support/rows/replayed_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

using reference::Real;
using reference::Reals;

/// Coefficients that are linear in the context, by a random theta.
class LinearModel final : public OutcomeModel {
 public:
  LinearModel(const Schema& schema, std::uint64_t seed) : kind_(schema.action_kind) {
    theta_.kind = PolicyKind::softmax;
    theta_.outputs = kind_ == ActionKind::continuous   ? 3
                     : kind_ == ActionKind::multilabel ? 1 + schema.num_actions
                                                       : schema.num_actions;
    std::mt19937_64 random(seed);
    for (std::int64_t i = 0; i < theta_.outputs * (1 + schema.features); ++i) theta_.theta.push_back(normal(random));
    scorer_schema_ = schema;
    scorer_schema_.action_kind = ActionKind::categorical;
    scorer_schema_.num_actions = theta_.outputs;
    scorer_ = make_target_policy(theta_, scorer_schema_, "model");
  }

  std::string name() const override { return "linear"; }
  std::string inapplicable_reason(const TargetPolicy&) const override { return {}; }
  int coefficient_columns() const override { return theta_.outputs; }
  OutcomeCoefficients coefficients(const Block& block, PolicyScratch& scratch, double* out) const override {
    scorer_->scores(block, scratch, out);
    return {out, kCentre, kScale};
  }
  void logged(const Block& block, PolicyScratch& scratch, double* out) const override {
    std::vector<double> q(static_cast<std::size_t>(theta_.outputs) * kBlockRows + 8);
    auto* aligned = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(q.data()) + 63) / 64 * 64);
    scorer_->scores(block, scratch, aligned);
    const auto at = [&](int column, int row) { return aligned[column * kBlockRows + row]; };
    for (int i = 0; i < block.rows; ++i) {
      if (kind_ == ActionKind::categorical) {
        out[i] = at(block.category[i], i);
      } else if (kind_ == ActionKind::continuous) {
        const double u = (block.action[i] - kCentre) / kScale;
        out[i] = at(0, i) + at(1, i) * u + at(2, i) * u * u;
      } else {
        out[i] = at(0, i);
        for (int k = 0; k < block.num_actions; ++k)
          out[i] += (block.bits[k * kBlockRows + i] != 0 ? 1 : -1) * at(k + 1, i);
      }
    }
  }
  void expectation(const Block&, const TargetPolicy&, PolicyScratch&, double*) const override {}

  static constexpr double kCentre = 0.3, kScale = 1.7;
  const Policy& theta() const { return theta_; }

 private:
  ActionKind kind_;
  Policy theta_;
  Schema scorer_schema_;
  std::unique_ptr<TargetPolicy> scorer_;
};

/// q(x, a) of one row's coefficients and Σ_a π(a|x) q(x, a), straight from their definitions.
Real logged_outcome(const Reals& q, const LoggedRows& rows, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (rows.schema.action_kind == ActionKind::categorical) return q[static_cast<std::size_t>(rows.category[at])];
  if (rows.schema.action_kind == ActionKind::continuous) {
    const Real u = (rows.action[at] - LinearModel::kCentre) / LinearModel::kScale;
    return q[0] + q[1] * u + q[2] * u * u;
  }
  Real out = q[0];
  const std::vector<bool> bits = row_bits(rows, i);
  for (std::size_t k = 0; k < bits.size(); ++k) out += bits[k] ? q[k + 1] : -q[k + 1];
  return out;
}

Real expected_outcome(const Policy& policy, const Reals& q, const Reals& scores) {
  if (policy.kind == PolicyKind::softmax) {
    Real out = 0;
    for (std::size_t k = 0; k < q.size(); ++k)
      out += std::exp(reference::softmax_log_probability(scores, static_cast<int>(k), policy.epsilon)) * q[k];
    return out;
  }
  if (policy.kind == PolicyKind::multilabel) {
    Real out = q[0];
    for (std::size_t k = 0; k < scores.size(); ++k)
      out += (2 * reference::label_probability(true, scores[k], policy.epsilon) - 1) * q[k + 1];
    return out;
  }
  const Real s2 = static_cast<Real>(policy.scale) * policy.scale;
  const bool log = policy.kind == PolicyKind::lognormal;
  const Real mean = log ? std::exp(scores[0] + s2 / 2) : scores[0];
  const Real square = log ? std::exp(2 * scores[0] + 2 * s2) : mean * mean + s2;
  const Real c = LinearModel::kCentre, s = LinearModel::kScale;
  return q[0] + q[1] * (mean - c) / s + q[2] * (square - 2 * c * mean + c * c) / (s * s);
}

Real reference_value(const ObjectiveProblem& problem, const LinearModel& model, const LoggedRows& rows) {
  const ObjectiveRules& rules = problem.rules;
  const Correction correction = rules.estimator->learning->correction;
  const Reals excess = correction == Correction::labels ? label_excess(problem.policy, rows, rules.alpha) : Reals{};
  Reals terms, spread;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    if (problem.rows != nullptr && !(*problem.rows)[i]) continue;
    const Reals q = row_scores(model.theta(), rows, i);
    const Real y = rows.loss[static_cast<std::size_t>(i)], logged = logged_outcome(q, rows, i);
    Real term = expected_outcome(problem.policy, q, row_scores(problem.policy, rows, i));
    if (correction == Correction::labels) term += (1 + excess[static_cast<std::size_t>(i)]) * (y - logged);
    if (correction == Correction::weights) {
      Real w = std::exp(log_density(problem.policy, rows, i) - log_propensity(rows, i));
      w = std::min<Real>(w, rules.weight_cap);
      if (rules.estimator == &kDrosEstimator) w = rules.shrinkage * w / (w * w + rules.shrinkage);
      term += w * (y - logged);
    }
    terms.push_back(term);
    spread.push_back(term - (correction == Correction::none ? logged : y));
  }
  const Real n = static_cast<Real>(terms.size());
  Real out = reference::mean(terms) + rules.lambda * std::sqrt(reference::sample_variance(spread) / n);
  for (std::size_t j = 0; j < problem.policy.theta.size(); ++j) {
    if (j % static_cast<std::size_t>(problem.policy.row_length()) != 0)
      out += rules.l2 * static_cast<Real>(problem.policy.theta[j]) * problem.policy.theta[j];
  }
  return out;
}

ObjectiveProblem problem_for(const Policy& policy, const Estimator& estimator, double lambda = 0.7) {
  ObjectiveProblem problem{policy, {}, nullptr};
  problem.rules.estimator = &estimator;
  problem.rules.lambda = lambda;
  problem.rules.l2 = 0.01;
  problem.rules.alpha = 0.05;
  problem.rules.shrinkage = 2.5;
  return problem;
}

/// Value to 1e-11, gradient to 1e-6 of its largest component: what central differences can tell.
void check_against_reference(ObjectiveProblem problem, const LoggedRows& rows) {
  const auto model = std::make_shared<LinearModel>(rows.schema, 41);
  MemorySource source = make_source(rows);
  const LearningModel columns(model, source, {});
  problem.model = &columns;
  const ObjectiveValue value = evaluate_objectives(source, {problem}, {}).front();
  CHECK(value.objective == doctest::Approx(static_cast<double>(reference_value(problem, *model, rows))).epsilon(1e-11));
  std::vector<double> slope;
  ObjectiveProblem moved = problem;
  for (double& theta : moved.policy.theta) {
    const double centre = theta, step = 1e-5 * std::max(1.0, std::abs(centre));
    theta = centre + step;
    const Real above = reference_value(moved, *model, rows), high = theta;
    theta = centre - step;
    slope.push_back(static_cast<double>((above - reference_value(moved, *model, rows)) / (high - theta)));
    theta = centre;
  }
  double largest = 1e-300;
  for (const double g : slope) largest = std::max(largest, std::abs(g));
  REQUIRE(value.gradient.size() == slope.size());
  for (std::size_t j = 0; j < slope.size(); ++j) {
    CAPTURE(j);
    CHECK(std::abs(value.gradient[j] - slope[j]) <= 1e-6 * largest);
  }
}

std::vector<const Estimator*> estimators_for(PolicyKind kind) {
  std::vector<const Estimator*> out = {&kDmEstimator, &kDrEstimator, &kDrosEstimator};
  if (kind == PolicyKind::multilabel) out.push_back(&kAdditiveDrEstimator);
  return out;
}

/// Rows whose losses follow their actions: a linear model is right about them.
LoggedRows predictable_rows(const Schema& schema, std::int64_t count, std::uint64_t seed) {
  LoggedRows rows = random_rows(schema, count, seed, 0.3);
  const LinearModel truth(schema, 77);
  for (std::int64_t i = 0; i < count; ++i) {
    double& loss = rows.loss[static_cast<std::size_t>(i)];
    loss = 0.1 * loss + static_cast<double>(logged_outcome(row_scores(truth.theta(), rows, i), rows, i));
  }
  return rows;
}

}  // namespace

TEST_CASE("model objective: value and gradient agree with long-double differences for every policy and estimator") {
  for (const PolicyKind kind :
       {PolicyKind::gaussian, PolicyKind::lognormal, PolicyKind::softmax, PolicyKind::multilabel}) {
    for (const bool sparse : {false, true}) {
      for (const double epsilon : {0.0, 0.1}) {
        const Schema schema = schema_for(kind, 3, sparse);
        LoggedRows rows = random_rows(schema, 60, 7);
        if (kind == PolicyKind::lognormal) {
          for (double& a : rows.action) a = std::abs(a) + 0.1;
        }
        const Policy policy = random_policy(kind, schema, 11, FeatureMap::linear, epsilon, Mixing::label);
        for (const Estimator* estimator : estimators_for(kind)) {
          CAPTURE(std::string(kind.name()));
          CAPTURE(sparse);
          CAPTURE(epsilon);
          CAPTURE(estimator->name);
          check_against_reference(problem_for(policy, *estimator), rows);
        }
      }
    }
  }
}

TEST_CASE("model objective: quadratic features, joint mixing, masks, held weights, no penalty and odd shapes agree") {
  const Schema bits = schema_for(PolicyKind::multilabel, 3);
  const LoggedRows rows = random_rows(bits, 60, 3);
  const Policy joint = random_policy(PolicyKind::multilabel, bits, 5, FeatureMap::quadratic, 0.1, Mixing::joint);
  for (const Estimator* estimator : {&kDmEstimator, &kDrEstimator})
    check_against_reference(problem_for(joint, *estimator), rows);
  const RowMask mask = RowMask::random(rows.rows, 0.5, 1, 0);
  for (const Estimator* estimator : estimators_for(PolicyKind::multilabel)) {
    ObjectiveProblem problem =
        problem_for(random_policy(PolicyKind::multilabel, bits, 5, FeatureMap::linear, 0.1, Mixing::label), *estimator);
    problem.rows = &mask;
    check_against_reference(problem, rows);
    problem.rules.lambda = 0;
    problem.rules.weight_cap = 0.4;
    check_against_reference(problem, rows);
  }
  for (const std::int64_t features : {0, 1, 5}) {
    for (const std::int64_t n : {2, 7, 2049}) {
      const Schema schema = schema_for(PolicyKind::softmax, features);
      check_against_reference(problem_for(random_policy(PolicyKind::softmax, schema, 9), kDrEstimator),
                              random_rows(schema, n, 13));
    }
  }
}

TEST_CASE("model objective: columns that are held, and those made anew in every pass, give the same bits") {
  const Schema schema = schema_for(PolicyKind::multilabel, 4);
  const LoggedRows rows = random_rows(schema, 3 * kBlockRows + 5, 3);
  MemorySource source = make_source(rows);
  const auto model = std::make_shared<LinearModel>(schema, 41);
  const LearningModel held(model, source, {}), anew(model, source, {.threads = 0, .memory = 4096, .progress = {}});
  REQUIRE(held.bytes() > 0);
  REQUIRE(anew.bytes() == 0);
  ObjectiveProblem problem = problem_for(random_policy(PolicyKind::multilabel, schema, 5), kDrEstimator);
  problem.model = &held;
  const ObjectiveValue first =
      evaluate_objectives(source, {problem}, {.threads = 1, .memory = 0, .progress = {}}).front();
  for (const int threads : {1, 7}) {
    for (const LearningModel* columns : {&held, &anew}) {
      problem.model = columns;
      const ObjectiveValue value =
          evaluate_objectives(source, {problem}, {.threads = threads, .memory = 0, .progress = {}}).front();
      CHECK(value.objective == first.objective);
      CHECK(value.gradient == first.gradient);
    }
  }
}

TEST_CASE("model objective: rows that share contexts give what they give spelled out") {
  for (const PolicyKind kind : {PolicyKind::softmax, PolicyKind::multilabel}) {
    const Schema schema = schema_for(kind, 5);
    const LoggedRows rows = replayed_rows(schema, kBlockRows + 40, 4, 3);
    MemorySource apart = make_source(rows), shared = shared_source(rows, 4);
    const auto model = std::make_shared<LinearModel>(schema, 41);
    const LearningModel of_apart(model, apart, {}),
        of_shared(std::make_shared<LinearModel>(shared.schema(), 41), shared, {});
    for (const Estimator* estimator : estimators_for(kind)) {
      CAPTURE(estimator->name);
      ObjectiveProblem problem =
          problem_for(random_policy(kind, schema, 5, FeatureMap::linear, 0.1, Mixing::label), *estimator);
      problem.model = &of_apart;
      const ObjectiveValue expected = evaluate_objectives(apart, {problem}, {}).front();
      problem.model = &of_shared;
      const ObjectiveValue actual = evaluate_objectives(shared, {problem}, {}).front();
      CHECK(actual.objective == doctest::Approx(expected.objective).epsilon(1e-12));
      for (std::size_t j = 0; j < actual.gradient.size(); ++j)
        CHECK(actual.gradient[j] == doctest::Approx(expected.gradient[j]).epsilon(1e-9));
    }
  }
}

TEST_CASE("learn: with a ridge model that is right, dm, dr and dros find what the truth would") {
  for (const PolicyKind kind : {PolicyKind::softmax, PolicyKind::multilabel}) {
    const Schema schema = schema_for(kind, 3);
    const LoggedRows rows = predictable_rows(schema, 2000, 5);
    MemorySource source = make_source(rows);
    const auto truth = std::make_shared<LinearModel>(schema, 77);
    const LearningModel columns(truth, source, {});
    LearnOptions options;
    options.rules.l2 = 1e-4;
    const auto true_loss = [&](const Policy& policy) {
      ObjectiveProblem problem = problem_for(policy, kDmEstimator, 0);
      problem.rules.l2 = 0;
      problem.model = &columns;
      return evaluate_objectives(source, {problem}, {}).front().risk;
    };
    Policy start = zero_policy(kind, FeatureMap::linear, schema);
    start.mixing = Mixing::label;
    options.rules.estimator = &kDmEstimator;
    options.model = truth;
    const double best = true_loss(learn(source, start, options, {}).policies.front().policy);
    options.model = nullptr;
    CHECK(best < true_loss(start) - 0.5);
    for (const Estimator* estimator : estimators_for(kind)) {
      CAPTURE(estimator->name);
      options.rules.estimator = estimator;
      const LearnReport report = learn(source, start, options, {});
      REQUIRE(report.model != nullptr);
      CHECK(true_loss(report.policies.front().policy) < best + 0.05);
    }
  }
}

TEST_CASE("learn: lambda is chosen by models that have not seen the held-out rows, with the same bits on any threads") {
  const Schema schema = schema_for(PolicyKind::multilabel, 3);
  const LoggedRows rows = predictable_rows(schema, 1500, 9);
  MemorySource source = make_source(rows);
  Policy start = zero_policy(PolicyKind::multilabel, FeatureMap::linear, schema);
  start.mixing = Mixing::label;
  LearnOptions options;
  options.rules.estimator = &kDmEstimator;
  options.lambda_rule = LambdaRule::automatic;
  options.lambdas = {0, 1, 100};
  options.minimize.max_iterations = 30;
  const LearnReport one = learn(source, start, options, {.threads = 1, .memory = 0, .progress = {}});
  const LearnReport many = learn(source, start, options, {.threads = 7, .memory = 0, .progress = {}});
  REQUIRE(one.scores.size() == 3);
  for (std::size_t l = 0; l < 3; ++l) CHECK(one.scores[l].risk == many.scores[l].risk);
  CHECK(one.policies.front().policy.theta == many.policies.front().policy.theta);
}

TEST_CASE("learn: a model of columns, which knows the logged actions alone, is refused with a way out") {
  Schema schema = schema_for(PolicyKind::softmax, 2);
  const LoggedRows rows = random_rows(schema, 50, 3);
  MemorySource source = make_source(rows);
  class LoggedOnly final : public OutcomeModel {
   public:
    std::string name() const override { return "logged only"; }
    std::string inapplicable_reason(const TargetPolicy&) const override { return {}; }
    void logged(const Block&, PolicyScratch&, double*) const override {}
    void expectation(const Block&, const TargetPolicy&, PolicyScratch&, double*) const override {}
  };
  LearnOptions options;
  options.rules.estimator = &kDrEstimator;
  options.model = std::make_shared<LoggedOnly>();
  CHECK_THROWS_WITH_AS(learn(source, zero_policy(PolicyKind::softmax, FeatureMap::linear, schema), options, {}),
                       doctest::Contains("leave the model out"), Error);
}
