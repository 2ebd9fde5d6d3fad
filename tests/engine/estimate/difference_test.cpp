// labels: slow threads statistical
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/io/file/error.hpp"
#include "support/reference/check_report.hpp"
#include "support/reference/difference_reference.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;
using reference::Real;
using reference::Reals;

namespace {

const Estimate& find_difference(const PolicyReport& report, const std::string& name) {
  REQUIRE(report.difference.has_value());
  for (const Estimate& estimate : report.difference->estimates) {
    if (estimate.estimator == name) return estimate;
  }
  FAIL("no difference named " << name);
  return report.estimates.front();
}

Real half_width(const reference::Estimated& estimate, const EvaluateOptions& options, std::size_t rows) {
  if (options.interval == IntervalKind::bernstein)
    return reference::bernstein_half_width(estimate, static_cast<Real>(rows), options.level);
  return interval_factor(options, rows) * estimate.standard_error;
}

/// Bernstein's intervals of snips and additive rest on bounds of the ranges of their terms, so that they may be wider.
void check_difference(const PolicyReport& report, const Expected& expected, const EvaluateOptions& options,
                      std::size_t rows, double tolerance) {
  CHECK(report.difference->estimates.size() == expected.size());
  for (const auto& [name, one] : expected) {
    const Estimate& actual = find_difference(report, name);
    CAPTURE(name);
    const Real half = half_width(one, options, rows);
    if (rows == 1 && name == "snips") {  // nothing minus nothing: both are the only loss
      CHECK(std::abs(value_or_nan(actual.value)) <= 1e-15);
      continue;
    }
    if (options.interval == IntervalKind::bernstein && (name == "snips" || name == "additive")) {
      CHECK(value_or_nan(actual.low) <= static_cast<double>(one.value - half * (1 - 1e-9L)));
      CHECK(value_or_nan(actual.high) >= static_cast<double>(one.value + half * (1 - 1e-9L)));
      continue;
    }
    check_estimate(actual, one, static_cast<double>(half), tolerance);
    CHECK(actual.parameter.has_value() == (name == "clipped" || name == "ips-ix" || name == "additive"));
  }
}

Schema schema_of(ActionKind kind) {
  Schema schema;
  schema.action_kind = kind;
  schema.num_actions = kind == ActionKind::continuous ? 0 : 4;
  schema.features = 3;
  schema.label_propensity = kind == ActionKind::multilabel;
  schema.targets = {"outside"};
  return schema;
}

/// Three policies and a target column: more than one batch of policies.
struct Problem {
  LoggedRows rows;
  std::vector<NamedPolicy> named;
  std::vector<Side> sides;

  Problem(ActionKind kind, std::int64_t n, const EvaluateOptions& options, double decades = 1)
      : rows(random_rows(schema_of(kind), n, 17 + static_cast<std::uint64_t>(n), decades)) {
    const PolicyKind policy_kind = kind == ActionKind::continuous    ? PolicyKind::gaussian
                                   : kind == ActionKind::categorical ? PolicyKind::softmax
                                                                     : PolicyKind::multilabel;
    const Real alpha = options.alpha ? *options.alpha : 1 / static_cast<Real>(n);
    for (std::uint64_t p = 0; p < 4; ++p) {
      const Policy policy = random_policy(policy_kind, rows.schema, p);
      const std::string name = "policy " + std::to_string(p);
      named.push_back({name, make_target_policy(policy, rows.schema, name)});
      sides.push_back({policy_weights(policy, rows), {}});
      if (rows.schema.label_propensity) sides.back().excess = label_excess(policy, rows, alpha);
    }
    named.push_back({"outside", make_target_column_policy(0)});
    sides.push_back({target_weights(0, rows), {}});
  }

  EvaluationReport report(const EvaluateOptions& options, int threads = 2) const {
    MemorySource source = make_source(rows);
    PassOptions pass;
    pass.threads = threads;
    return evaluate(source, named, options, pass);
  }
};

std::vector<std::optional<double>> numbers(const EvaluationReport& report) {
  std::vector<std::optional<double>> out;
  for (const PolicyReport& policy : report.policies) {
    if (!policy.difference) continue;
    for (const Estimate& e : policy.difference->estimates)
      out.insert(out.end(), {e.value, e.standard_error, e.low, e.high, e.parameter});
  }
  return out;
}

/// Rows from N(0, 1) whose losses follow the action, with the density that logged it.
LoggedRows gaussian_rows(std::int64_t n, std::uint64_t seed, double level = 0) {
  std::mt19937_64 random(seed);
  LoggedRows rows;
  rows.rows = n;
  for (std::int64_t i = 0; i < n; ++i) {
    const double a = normal(random);
    rows.action.push_back(a);
    rows.loss.push_back(level + 0.8 * std::cos(a) + uniform(random, -0.2, 0.2));
    rows.propensity.push_back(static_cast<double>(std::exp(reference::gaussian_log_density(a, 0, 1))));
  }
  return rows;
}

Policy gaussian(double mean, double scale) {
  Policy policy;
  policy.theta = {mean};
  policy.scale = scale;
  return policy;
}

NamedPolicy named(const std::string& name, const Policy& policy, const Schema& schema) {
  return {name, make_target_policy(policy, schema, name)};
}

}  // namespace

TEST_CASE("difference: every number equals the reference, against the logged actions and against each policy") {
  for (const ActionKind kind : {ActionKind::continuous, ActionKind::categorical, ActionKind::multilabel}) {
    for (const std::int64_t n : {1, 2, 7, 11, 4095, 6151}) {
      for (const bool given : {false, true}) {
        EvaluateOptions options = with_normal_intervals();
        if (given) {
          options.clip = 1.7;
          options.alpha = 0.03;
        }
        options.interval = n == 6151    ? IntervalKind::bernstein
                           : n % 2 == 0 ? IntervalKind::student
                                        : IntervalKind::normal;
        const Problem problem(kind, n, options);
        const Reals y = losses(problem.rows);
        for (const int b : {-1, 0, 4}) {
          CAPTURE(static_cast<int>(kind));
          CAPTURE(n);
          CAPTURE(given);
          CAPTURE(b);
          const auto at = static_cast<std::size_t>(b);
          options.baseline = b < 0 ? "logged" : problem.named[at].name;
          const Side base = b < 0 ? Side{} : problem.sides[at];
          const EvaluationReport report = problem.report(options);
          for (std::size_t p = 0; p < problem.named.size(); ++p) {
            CAPTURE(p);
            if (static_cast<int>(p) == b) {
              CHECK_FALSE(report.policies[p].difference.has_value());
              continue;
            }
            CHECK(report.policies[p].difference->baseline == options.baseline);
            check_difference(report.policies[p], expected_differences(problem.sides[p], base, y, options), options,
                             y.size(), 1e-11);
          }
        }
      }
    }
  }
}

TEST_CASE("difference: the same bits with 1, 2, 3 and 8 threads, bootstrap included, and estimates do not change") {
  for (const std::string baseline : {"logged", "policy 1"}) {
    for (const IntervalKind interval : {IntervalKind::normal, IntervalKind::bootstrap}) {
      EvaluateOptions options = with_normal_intervals();
      options.baseline = baseline;
      options.interval = interval;
      options.replicates = 100;
      const Problem problem(ActionKind::multilabel, 9001, options);
      const EvaluationReport one = problem.report(options, 1);
      for (const int threads : {2, 3, 8}) CHECK(numbers(problem.report(options, threads)) == numbers(one));
      options.baseline = "";
      const EvaluationReport without = problem.report(options, 2);
      for (std::size_t p = 0; p < one.policies.size(); ++p) {
        CHECK_FALSE(without.policies[p].difference.has_value());
        for (std::size_t e = 0; e < one.policies[p].estimates.size(); ++e) {
          CHECK(one.policies[p].estimates[e].value == without.policies[p].estimates[e].value);
          CHECK(one.policies[p].estimates[e].standard_error == without.policies[p].estimates[e].standard_error);
          CHECK(one.policies[p].estimates[e].low == without.policies[p].estimates[e].low);
        }
      }
    }
  }
}

TEST_CASE("difference: the policy that logged the rows differs from them by exactly nothing") {
  LoggedRows rows = gaussian_rows(5000, 3, 1000);
  for (std::size_t i = 0; i < rows.loss.size(); ++i) rows.propensity[i] = 1;
  rows.schema.targets = {"same"};
  rows.targets = {std::vector<double>(rows.loss.size(), 1.0)};
  MemorySource source = make_source(rows);
  const EvaluationReport report = evaluate(source, {{"same", make_target_column_policy(0)}}, {}, {});
  for (const char* name : {"ips", "clipped", "snips"}) {
    const Estimate& difference = find_difference(report.policies[0], name);
    CHECK(difference.value == 0.0);
    CHECK(value_or_nan(difference.standard_error) <= 1e-14);
  }
}

TEST_CASE("difference: propensities that were rounded in their last digits leave nothing of a policy's own logs") {
  LoggedRows rows = gaussian_rows(5000, 3, 10);
  rows.schema.targets = {"same"};
  rows.targets = {std::vector<double>(rows.loss.size(), 1.0)};
  for (std::size_t i = 0; i < rows.loss.size(); ++i) {
    rows.targets[0][i] = 0.1 + 0.8 * static_cast<double>(i) / 5000;
    rows.propensity[i] = rows.targets[0][i] * (1 - 2e-10 * static_cast<double>(i % 3));
  }
  for (const IntervalKind kind : {IntervalKind::automatic, IntervalKind::student, IntervalKind::bootstrap,
                                  IntervalKind::cressie_read, IntervalKind::bernstein}) {
    MemorySource source = make_source(rows);
    EvaluateOptions options;
    options.estimators = {"ips", "snips"};
    options.interval = kind;
    options.loss_threshold = 0;
    const EvaluationReport report = evaluate(source, {{"same", make_target_column_policy(0)}}, options, {});
    for (const char* name : {"ips", "snips"}) {
      CAPTURE(name);
      CAPTURE(definition_of(kind).name);
      const Estimate& difference = find_difference(report.policies[0], name);
      CHECK(difference.value == 0.0);
      CHECK(difference.standard_error == 0.0);
      CHECK(value_or_nan(difference.low) <= 0.0);
      CHECK(value_or_nan(difference.high) >= 0.0);
      CHECK(difference.confidence == doctest::Approx(0.5));
      CHECK(!difference.doubted);
    }
  }
}

TEST_CASE("difference: one row in a thousand that differs is no rounding, however large the losses of others are") {
  LoggedRows rows = gaussian_rows(5000, 3);
  rows.schema.targets = {"other"};
  rows.targets = {std::vector<double>(rows.loss.size(), 1.0)};
  for (std::size_t i = 0; i < rows.loss.size(); ++i) {
    rows.propensity[i] = 1;
    if (i % 1000 == 0) rows.targets[0][i] = 1 - 1e-6;
    if (i % 1000 == 1) rows.loss[i] = 1e12;
  }
  MemorySource source = make_source(rows);
  const EvaluationReport report = evaluate(source, {{"other", make_target_column_policy(0)}}, {}, {});
  CHECK(value_or_nan(find_difference(report.policies[0], "ips").value) != 0.0);
}

TEST_CASE("difference: two nearly equal policies keep the digits of their difference, far from zero losses") {
  const LoggedRows rows = gaussian_rows(20000, 4, 1e6);
  MemorySource source = make_source(rows);
  const std::vector<Policy> policies = {gaussian(0.3, 0.9), gaussian(0.3 + 1e-4, 0.9)};
  EvaluateOptions options = with_normal_intervals();
  options.baseline = "old";
  const EvaluationReport report =
      evaluate(source, {named("new", policies[1], rows.schema), named("old", policies[0], rows.schema)}, options, {});
  const Side a{policy_weights(policies[1], rows), {}}, b{policy_weights(policies[0], rows), {}};
  // The standard error is 4e-7 beside values of 1e6, which are themselves rounded to 1e-10.
  check_difference(report.policies[0], expected_differences(a, b, losses(rows), options), options, 20000, 1e-6);
}

TEST_CASE("difference: weights beyond any square have a difference, or none, but never a wrong one") {
  for (const std::int64_t n : {7, 4097}) {
    EvaluateOptions options = with_normal_intervals();
    const Problem problem(ActionKind::continuous, n, options, 299);
    for (const std::string& baseline : {std::string("logged"), problem.named[2].name}) {
      options.baseline = baseline;
      const EvaluationReport report = problem.report(options);
      const Side base = baseline == "logged" ? Side{} : problem.sides[2];
      const Reals y = losses(problem.rows);
      for (std::size_t p = 0; p < problem.named.size(); ++p) {
        if (!report.policies[p].difference) continue;
        for (const auto& [name, expected] : expected_differences(problem.sides[p], base, y, options)) {
          CAPTURE(name);
          CAPTURE(baseline);
          CAPTURE(p);
          CAPTURE(n);
          const Estimate& actual = find_difference(report.policies[p], name);
          // Two sides of this size leave no more digits of their difference, in the reference either.
          const Real sides = std::abs(value_or_nan(find_estimate(report.policies[p], name).value)) +
                             std::abs(value_or_nan(find_estimate(report.policies[2], name).value));
          const Real scale = std::max({std::abs(expected.value), expected.standard_error, sides});
          if (actual.value) CHECK(relative_error(*actual.value, expected.value, scale) <= 1e-9);
          const Real noise = std::max({expected.standard_error, expected.noise, sides});
          if (actual.standard_error)
            CHECK(relative_error(*actual.standard_error, expected.standard_error, noise) <= 1e-9);
          if (name != "snips") CHECK(actual.value.has_value());
        }
      }
    }
  }
}

TEST_CASE("difference: no weight at all leaves snips undefined and ips at minus the logged mean") {
  LoggedRows rows = gaussian_rows(300, 5);
  rows.schema.targets = {"never"};
  rows.targets = {std::vector<double>(rows.loss.size(), 0.0)};
  MemorySource source = make_source(rows);
  const EvaluationReport report = evaluate(source, {{"never", make_target_column_policy(0)}}, {}, {});
  CHECK_FALSE(find_difference(report.policies[0], "snips").value.has_value());
  const Reals y = losses(rows);
  for (const char* name : {"ips", "clipped", "ips-ix"}) {
    const Estimate& difference = find_difference(report.policies[0], name);
    CHECK(relative_error(value_or_nan(difference.value), -reference::mean(y)) <= 1e-13);
    CHECK(relative_error(value_or_nan(difference.standard_error), reference::average(y).standard_error) <= 1e-12);
  }
}

TEST_CASE("difference: a baseline that is not evaluated is refused with the names that are") {
  const LoggedRows rows = gaussian_rows(10, 6);
  MemorySource source = make_source(rows);
  EvaluateOptions options = with_normal_intervals();
  options.baseline = "older";
  CHECK_THROWS_WITH_AS(evaluate(source, {named("new", gaussian(0, 1), rows.schema)}, options, {}),
                       doctest::Contains("choose among logged, new"), Error);
}

TEST_CASE("difference: the bootstrap's interval is the normal one on many rows") {
  const LoggedRows rows = gaussian_rows(200000, 7);
  MemorySource source = make_source(rows);
  for (const std::string baseline : {"logged", "old"}) {
    EvaluateOptions options = with_normal_intervals();
    options.baseline = baseline;
    options.replicates = 2000;
    const std::vector<NamedPolicy> policies = {named("new", gaussian(0.2, 0.9), rows.schema),
                                               named("old", gaussian(-0.1, 1), rows.schema)};
    const EvaluationReport normal_report = evaluate(source, policies, options, {});
    options.interval = IntervalKind::bootstrap;
    const EvaluationReport resampled = evaluate(source, policies, options, {});
    for (const char* name : {"ips", "clipped", "snips", "ips-ix"}) {
      CAPTURE(name);
      const Estimate& expected = find_difference(normal_report.policies[0], name);
      const Estimate& actual = find_difference(resampled.policies[0], name);
      // A percentile of 2,000 replicates has an error of 0.06 standard errors: 0.25 is more than four of them.
      const double allowed = 0.25 * value_or_nan(expected.standard_error);
      CHECK(std::abs(value_or_nan(actual.low) - value_or_nan(expected.low)) <= allowed);
      CHECK(std::abs(value_or_nan(actual.high) - value_or_nan(expected.high)) <= allowed);
    }
  }
}

// With a true coverage of 95 % the share over 1,000 sets has a standard deviation of 0.69 %: [92.5, 97.5] is ±3.6 of
// them, a false-alarm rate of 0.03 % for each of the shares checked. Seeds are fixed.
TEST_CASE("difference: intervals at 95 % hold the true difference in 92.5 to 97.5 % of 1,000 data sets") {
  const auto truth = [](double mean, double scale) { return 0.8 * std::exp(-0.5 * scale * scale) * std::cos(mean); };
  std::map<std::string, double> held;
  for (std::uint64_t set = 0; set < 1000; ++set) {
    const LoggedRows rows = gaussian_rows(500, 2000 + set);
    MemorySource source = make_source(rows);
    for (const std::string baseline : {"logged", "old"}) {
      EvaluateOptions options = with_normal_intervals();
      options.baseline = baseline;
      options.interval = IntervalKind::student;
      options.estimators = {"ips", "snips", "ips-ix"};
      const EvaluationReport report = evaluate(
          source, {named("new", gaussian(0.2, 0.9), rows.schema), named("old", gaussian(0.4, 0.8), rows.schema)},
          options, {});
      const double expected = truth(0.2, 0.9) - (baseline == "logged" ? truth(0, 1) : truth(0.4, 0.8));
      for (const Estimate& one : report.policies[0].difference->estimates) {
        const bool inside = value_or_nan(one.low) <= expected && expected <= value_or_nan(one.high);
        held[one.estimator + " minus " + baseline] += inside ? 0.1 : 0.0;
      }
    }
  }
  CHECK(held.size() == 6);
  for (const auto& [name, percent] : held) {
    CAPTURE(name);
    CHECK(percent >= 92.5);
    CHECK(percent <= 97.5);
  }
}
