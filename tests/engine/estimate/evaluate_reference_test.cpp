// labels: slow
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "support/reference/check_report.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr double kTolerance = 1e-12;

struct Context {
  const char* name;
  std::int64_t features;
  bool sparse;
  FloatType type;
};

const std::vector<Context> kContexts = {{"none", 0, false, FloatType::f64},
                                        {"dense float64", 4, false, FloatType::f64},
                                        {"dense float32", 5, false, FloatType::f32},
                                        {"sparse", 6, true, FloatType::f64}};

Schema make_schema(ActionKind kind, int actions, const Context& context, PropensityForm form) {
  Schema schema;
  schema.action_kind = kind;
  schema.num_actions = actions;
  schema.features = context.features;
  schema.sparse = context.sparse;
  schema.context_type = context.type;
  schema.propensity = form;
  schema.label_propensity = kind == ActionKind::multilabel;
  schema.targets = {"outside"};
  return schema;
}

std::vector<Policy> policies_for(const Schema& schema) {
  switch (schema.action_kind) {
    case ActionKind::continuous:
      return {random_policy(PolicyKind::gaussian, schema, 1), random_policy(PolicyKind::lognormal, schema, 2),
              random_policy(PolicyKind::gaussian, schema, 3, FeatureMap::quadratic)};
    case ActionKind::categorical:
      return {random_policy(PolicyKind::softmax, schema, 1), random_policy(PolicyKind::uniform, schema, 2),
              random_policy(PolicyKind::softmax, schema, 3, FeatureMap::quadratic, 0.1)};
    case ActionKind::multilabel:
      return {random_policy(PolicyKind::multilabel, schema, 1),
              random_policy(PolicyKind::multilabel, schema, 2, FeatureMap::linear, 0.1, Mixing::joint),
              random_policy(PolicyKind::multilabel, schema, 3, FeatureMap::quadratic, 0.1, Mixing::label),
              random_policy(PolicyKind::uniform, schema, 4)};
  }
  return {};
}

/// Evaluates all policies and the target column at once and compares every number with the reference.
void check_all(const LoggedRows& rows, const EvaluateOptions& options) {
  MemorySource source = make_source(rows);
  const std::vector<Policy> policies = policies_for(rows.schema);
  std::vector<NamedPolicy> named;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    const std::string name = "policy " + std::to_string(p);
    named.push_back({name, make_target_policy(policies[p], rows.schema, name)});
  }
  named.push_back({"outside", make_target_column_policy(0)});
  const EvaluationReport report = evaluate(source, named, options, {});
  REQUIRE(report.rows == rows.rows);
  REQUIRE(report.policies.size() == named.size());
  CHECK(relative_error(report.loss.true_mean(), reference::mean(losses(rows)), 1) <= kTolerance);
  const long double alpha = options.alpha ? *options.alpha : 1.0L / static_cast<long double>(rows.rows);
  for (std::size_t p = 0; p < named.size(); ++p) {
    const bool column = p == policies.size();
    ExpectedPolicy expected{column ? target_weights(0, rows) : policy_weights(policies[p], rows), losses(rows), {}};
    if (rows.schema.label_propensity && !column) expected.excess = label_excess(policies[p], rows, alpha);
    // The only row may have no weight at all, which is a case of its own.
    if (reference::sum(expected.w) > 0) check_report(report.policies[p], expected, options, kTolerance);
  }
}

void check_all_layouts(ActionKind kind, int actions, const std::vector<PropensityForm>& forms) {
  for (const Context& context : kContexts) {
    for (const PropensityForm form : forms) {
      for (const std::int64_t n : {1, 2, 7, 4095, 4097}) {
        INFO("context: ", context.name);
        CAPTURE(static_cast<int>(form));
        CAPTURE(n);
        const Schema schema = make_schema(kind, actions, context, form);
        EvaluateOptions options = with_normal_intervals();
        // The two ways of choosing M and α, and both kinds of interval, take turns.
        if (form == PropensityForm::linear) {
          options.clip = 1.7;
          options.alpha = 0.03;
        }
        options.interval = n % 4 == 1 ? IntervalKind::student : IntervalKind::normal;
        options.level = context.sparse ? 0.8 : 0.95;
        check_all(random_rows(schema, n, static_cast<std::uint64_t>(n) + 100), options);
      }
    }
  }
}

}  // namespace

TEST_CASE("evaluate: every number equals the reference for continuous actions") {
  check_all_layouts(ActionKind::continuous, 0, {PropensityForm::linear, PropensityForm::logarithm});
}

TEST_CASE("evaluate: every number equals the reference for categorical actions") {
  check_all_layouts(ActionKind::categorical, 3, {PropensityForm::linear, PropensityForm::logarithm});
}

TEST_CASE("evaluate: every number equals the reference for multilabel actions") {
  check_all_layouts(ActionKind::multilabel, 4,
                    {PropensityForm::linear, PropensityForm::logarithm, PropensityForm::label_product});
}

TEST_CASE("evaluate: every number equals the reference when weights span 1e-300 to 1e300") {
  for (const PropensityForm form : {PropensityForm::linear, PropensityForm::logarithm}) {
    for (const ActionKind kind : {ActionKind::continuous, ActionKind::categorical}) {
      for (const std::int64_t n : {1, 2, 7, 4097}) {
        for (const bool automatic : {false, true}) {
          CAPTURE(static_cast<int>(form));
          CAPTURE(static_cast<int>(kind));
          CAPTURE(n);
          CAPTURE(automatic);
          const Schema schema = make_schema(kind, kind == ActionKind::categorical ? 3 : 0, kContexts[1], form);
          EvaluateOptions options = with_normal_intervals();
          if (!automatic) {
            options.clip = 1.7;
            options.alpha = 0.03;
          }
          check_all(random_rows(schema, n, static_cast<std::uint64_t>(n) + 5, 299), options);
        }
      }
    }
  }
}
