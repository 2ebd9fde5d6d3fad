// labels: fast
#include "scrm/engine/estimate/evaluate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/kernels/vector/elementary.hpp"
#include "support/reference/check_report.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

Schema continuous_schema(std::int64_t features) {
  Schema schema;
  schema.features = features;
  return schema;
}

Schema multilabel_schema(int labels) {
  Schema schema;
  schema.action_kind = ActionKind::multilabel;
  schema.num_actions = labels;
  schema.features = 3;
  schema.label_propensity = true;
  schema.targets = {"outside"};
  return schema;
}

PolicyReport evaluate_one(const LoggedRows& rows, const Policy& policy, const EvaluateOptions& options = {}) {
  MemorySource source = make_source(rows);
  return evaluate(source, {{"it", make_target_policy(policy, rows.schema, "it")}}, options, {}).policies.front();
}

PolicyReport evaluate_column(const LoggedRows& rows, const EvaluateOptions& options = {}) {
  MemorySource source = make_source(rows);
  return evaluate(source, {{"outside", make_target_column_policy(0)}}, options, {}).policies.front();
}

bool warns_of(const PolicyReport& report, const std::string& words) {
  for (const std::string& warning : report.diagnostics.warnings) {
    if (warning.find(words) != std::string::npos) return true;
  }
  return false;
}

/// Rows whose propensities are the policy's own, as a program that logs what it does would write them.
LoggedRows own_rows(const Policy& policy, const Schema& schema, std::int64_t n) {
  LoggedRows rows = random_rows(schema, n, 71);
  MemorySource source = make_source(rows);
  const auto target = make_target_policy(policy, schema, "own");
  const auto loader = source.make_loader();
  PolicyScratch scratch;
  Columns<double> density;
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    Audit audit;
    const Block block = source.load(*group, b, *loader, audit);
    target->log_density(block, scratch, density.data());
    if (schema.propensity == PropensityForm::linear) exp_array(density.data(), density.data(), kBlockRows);
    for (int i = 0; i < block.rows; ++i) rows.propensity[static_cast<std::size_t>(block.first_row + i)] = density[i];
  }
  return rows;
}

}  // namespace

TEST_CASE("evaluate: a policy judged by its own logs has weights of exactly one and the sample mean as its value") {
  for (const PropensityForm form : {PropensityForm::linear, PropensityForm::logarithm}) {
    for (const std::int64_t n : {2, 7, 4097, 10000}) {
      Schema continuous = continuous_schema(4), bits = multilabel_schema(5);
      continuous.propensity = bits.propensity = form;
      for (const Schema& schema : {continuous, bits}) {
        const bool multilabel = schema.action_kind == ActionKind::multilabel;
        const PolicyKind kind = multilabel ? PolicyKind::multilabel : PolicyKind::gaussian;
        CAPTURE(n);
        CAPTURE(std::string(kind.name()));
        const Policy policy = random_policy(kind, schema, 5, FeatureMap::linear, 0.0);
        const LoggedRows rows = own_rows(policy, schema, n);
        EvaluateOptions options = with_normal_intervals();
        options.alpha = 0.25;
        options.estimators = {"ips", "clipped", "snips", "ips-ix"};
        const PolicyReport report = evaluate_one(rows, policy, options);
        CHECK(report.diagnostics.mean_weight == 1.0);
        CHECK(report.diagnostics.mean_weight_z == 0.0);
        CHECK(report.diagnostics.max_weight == 1.0);
        CHECK(report.diagnostics.ess == static_cast<double>(n));
        CHECK(report.diagnostics.warnings.empty() == (n > 10));  // one of few rows holds over 10 % of the weight
        const reference::Estimated mean = reference::average(losses(rows));
        for (const char* name : {"ips", "clipped", "snips"}) {
          const Estimate& estimate = find_estimate(report, name);
          CHECK(relative_error(value_or_nan(estimate.value), mean.value, std::abs(mean.value)) <= 1e-13);
          if (estimate.estimator != "snips") {
            CHECK(relative_error(value_or_nan(estimate.standard_error), mean.standard_error) <= 1e-13);
          }
        }
        CHECK(find_estimate(report, "clipped").parameter == 1.0);
        CHECK(relative_error(value_or_nan(find_estimate(report, "ips-ix").value), mean.value / 1.25L) <= 1e-13);
      }
    }
  }
}

TEST_CASE("evaluate: additive keeps its digits when losses lie far from zero") {
  for (const double offset : {1e3, 1e6, 1e8}) {
    LoggedRows rows = random_rows(multilabel_schema(6), 5000, 9);
    for (double& loss : rows.loss) loss += offset;
    const Policy policy = random_policy(PolicyKind::multilabel, rows.schema, 3);
    EvaluateOptions options = with_normal_intervals();
    options.alpha = 0.01;
    const PolicyReport report = evaluate_one(rows, policy, options);
    const reference::Estimated expected = reference::additive(label_excess(policy, rows, 0.01L), losses(rows));
    const Estimate& additive = find_estimate(report, "additive");
    CAPTURE(offset);
    CHECK(relative_error(value_or_nan(additive.value), expected.value) <= 1e-13);
    // The losses themselves are known to 1e-16 of the offset only.
    CHECK(relative_error(value_or_nan(additive.standard_error), expected.standard_error) <= 1e-14 * offset);
  }
}

TEST_CASE("evaluate: what an automatic alpha takes off the weights of labels does not make propensities look wrong") {
  // Bits set in half of the rows, and in 0.52 of them by the policy: weights spread so little that 6/n is seen.
  LoggedRows rows = random_rows(multilabel_schema(6), 100, 9);
  std::fill(rows.label_propensity.begin(), rows.label_propensity.end(), 0.5);
  std::fill(rows.propensity.begin(), rows.propensity.end(), std::pow(0.5, 6));
  Policy policy = random_policy(PolicyKind::multilabel, rows.schema, 3);
  std::fill(policy.theta.begin(), policy.theta.end(), 0.0);
  const auto columns = policy.theta.size() / 6;
  for (std::size_t k = 0; k < 6; ++k) policy.theta[k * columns] = std::log(0.52 / 0.48);
  policy.epsilon = 0;
  const auto says_wrong = [&] {
    const std::vector<std::string> warnings = evaluate_one(rows, policy).diagnostics.warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.find("label_propensity is wrong") != std::string::npos;
    });
  };
  CHECK(!says_wrong());
  for (const double recorded : {0.45, 0.55}) {
    std::fill(rows.label_propensity.begin(), rows.label_propensity.end(), recorded);
    CHECK(says_wrong());
  }
}

TEST_CASE("evaluate: the same policy in label probabilities leaves the additive estimator at the sample mean") {
  LoggedRows rows = random_rows(multilabel_schema(6), 3000, 9);
  std::fill(rows.label_propensity.begin(), rows.label_propensity.end(), 0.5);
  EvaluateOptions options = with_normal_intervals();
  options.alpha = 1e-300;  // so small that w_k is exactly one
  const PolicyReport report = evaluate_one(rows, random_policy(PolicyKind::uniform, rows.schema, 1), options);
  const reference::Estimated mean = reference::average(losses(rows));
  const Estimate& additive = find_estimate(report, "additive");
  CHECK(relative_error(value_or_nan(additive.value), mean.value) <= 1e-13);
  CHECK(relative_error(value_or_nan(additive.standard_error), mean.standard_error) <= 1e-13);
}

// Five targets, four estimators and the mean weight: 25 comparisons at four standard errors each. With normal errors
// one fails in 6 of 100,000 samples, so the false-alarm rate is below 0.2 %; the seed is fixed.
TEST_CASE("evaluate: estimates of cos(a) under shifted normals lie within four standard errors of the closed form") {
  LoggedRows rows;
  rows.schema = continuous_schema(0);
  rows.rows = 100000;
  std::mt19937_64 random(2023);
  Policy logging;
  logging.theta = {0.0};
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    const double a = normal(random);
    rows.action.push_back(a);
    rows.loss.push_back(std::cos(a));
    rows.propensity.push_back(static_cast<double>(std::exp(reference::gaussian_log_density(a, 0, 1))));
  }
  MemorySource source = make_source(rows);
  std::vector<NamedPolicy> targets;
  for (int i = 0; i < 5; ++i) {
    Policy policy = logging;
    policy.theta = {i * std::numbers::pi / 4};
    targets.push_back({std::to_string(i), make_target_policy(policy, rows.schema, "target")});
  }
  const EvaluationReport report = evaluate(source, targets, {}, {});
  for (int i = 0; i < 5; ++i) {
    CAPTURE(i);
    const double truth = std::exp(-0.5) * std::cos(i * std::numbers::pi / 4);
    const PolicyReport& target = report.policies[static_cast<std::size_t>(i)];
    CHECK(std::abs(value_or_nan(target.diagnostics.mean_weight_z)) < 4);
    for (const char* name : {"ips", "snips", "ips-ix"}) {
      const Estimate& estimate = find_estimate(target, name);
      CAPTURE(name);
      CHECK(std::abs(value_or_nan(estimate.value) - truth) < 4 * value_or_nan(estimate.standard_error));
    }
    // Clipping the four largest weights alone costs far less than the standard error.
    const Estimate& clipped = find_estimate(target, "clipped");
    CHECK(std::abs(value_or_nan(clipped.value) - truth) < 4 * value_or_nan(clipped.standard_error));
  }
  CHECK(report.policies[0].diagnostics.max_weight == doctest::Approx(1.0).epsilon(1e-14));
}

TEST_CASE("evaluate: bernstein intervals use the range of the averaged terms") {
  const LoggedRows rows = random_rows(multilabel_schema(4), 300, 21);
  const Policy policy = random_policy(PolicyKind::multilabel, rows.schema, 3);
  EvaluateOptions options = with_normal_intervals();
  options.interval = IntervalKind::bernstein;
  options.level = 0.9;
  options.clip = 2.0;
  options.alpha = 0.1;
  const PolicyReport report = evaluate_one(rows, policy, options);
  const reference::Reals w = policy_weights(policy, rows), y = losses(rows);
  const auto check = [&](const char* name, const reference::Estimated& expected) {
    const auto half = static_cast<double>(reference::bernstein_half_width(expected, 300, 0.9L));
    check_estimate(find_estimate(report, name), expected, half, 1e-12);
  };
  check("ips", reference::ips(w, y));
  check("clipped", reference::clipped(w, y, 2));
  check("ips-ix", reference::ips_ix(w, y, 0.1));
  // One pass does not know the ranges of these two exactly: intervals may be wider, by the triangle inequality at most.
  const auto check_bound = [&](const char* name, const reference::Estimated& exact, long double bound) {
    const Estimate& actual = find_estimate(report, name);
    const double half = (value_or_nan(actual.high) - value_or_nan(actual.low)) / 2;
    CHECK(half >= reference::bernstein_half_width(exact, 300, 0.9L) * (1 - 1e-12L));
    reference::Estimated widest = exact;
    widest.range = bound;
    CHECK(half <= reference::bernstein_half_width(widest, 300, 0.9L) * (1 + 1e-12L));
  };
  const reference::Estimated snips = reference::snips(w, y);
  check_bound("snips", snips,
              (reference::ips(w, y).range + std::abs(snips.value) * reference::average(w).range) / reference::mean(w));
  const reference::Reals excess = label_excess(policy, rows, 0.1L);
  const reference::Reals u = reference::map_rows(excess, y, [](long double s, long double b) { return b + b * s; });
  check_bound("additive", reference::additive(excess, y),
              reference::average(u).range + std::abs(reference::mean(y)) * reference::average(excess).range);
}

TEST_CASE("evaluate: alpha is one over the rows that a source hands out, not over those it counts") {
  const LoggedRows rows = random_rows(continuous_schema(2), 1000, 3);
  MemorySource all = make_source(rows);
  const RowMask kept = RowMask::random(1000, 0.3, 1, 0);
  MaskedSource source(all, kept);
  EvaluateOptions options = with_normal_intervals();
  options.estimators = {"ips-ix"};
  const Policy policy = zero_policy(PolicyKind::gaussian, FeatureMap::linear, rows.schema);
  const EvaluationReport report =
      evaluate(source, {{"it", make_target_policy(policy, rows.schema, "it")}}, options, {});
  REQUIRE(report.rows < 400);
  CHECK(report.policies[0].estimates[0].parameter == 1 / static_cast<double>(report.rows));
}

TEST_CASE("evaluate: one row has a value, no spread, and a warning that says so") {
  const LoggedRows rows = random_rows(continuous_schema(2), 1, 3);
  for (const IntervalKind interval :
       {IntervalKind::normal, IntervalKind::student, IntervalKind::bernstein, IntervalKind::bootstrap}) {
    EvaluateOptions options = with_normal_intervals();
    options.interval = interval;
    const PolicyReport report = evaluate_one(rows, random_policy(PolicyKind::gaussian, rows.schema, 1), options);
    for (const Estimate& estimate : report.estimates) {
      CHECK(estimate.value.has_value());
      CHECK_FALSE(estimate.standard_error.has_value());
      CHECK_FALSE(estimate.low.has_value());
      CHECK_FALSE(estimate.high.has_value());
    }
    CHECK_FALSE(report.diagnostics.mean_weight_z.has_value());
    CHECK(warns_of(report, "one row"));
  }
}

TEST_CASE("evaluate: when all weights are zero snips is empty with a warning and the others are zero") {
  for (const std::int64_t n : {1, 2, 3000}) {
    LoggedRows rows = random_rows(multilabel_schema(3), n, 4);
    std::fill(rows.targets[0].begin(), rows.targets[0].end(), 0.0);
    const PolicyReport report = evaluate_column(rows);
    for (const char* name : {"ips", "clipped", "ips-ix"}) CHECK(find_estimate(report, name).value == 0.0);
    CHECK_FALSE(find_estimate(report, "snips").value.has_value());
    CHECK_FALSE(find_estimate(report, "snips").standard_error.has_value());
    CHECK_FALSE(report.diagnostics.ess.has_value());
    CHECK(report.diagnostics.mean_weight == 0.0);
    CHECK(warns_of(report, "snips"));
    CHECK(warns_of(report, "every weight is zero"));
  }
}

TEST_CASE("evaluate: fewer than five rows with weight leave the automatic clip at zero and say nothing wrong") {
  LoggedRows rows = random_rows(multilabel_schema(3), 100, 4);
  std::fill(rows.targets[0].begin(), rows.targets[0].end(), 0.0);
  rows.targets[0][50] = rows.targets[0][7] = 0.5;
  const PolicyReport report = evaluate_column(rows);
  CHECK(find_estimate(report, "clipped").parameter == 0.0);
  CHECK(find_estimate(report, "clipped").value == 0.0);
  CHECK(find_estimate(report, "clipped").standard_error == 0.0);
}

TEST_CASE("evaluate: warnings for wrong propensities, few effective rows, and one row that holds it all") {
  LoggedRows rows = random_rows(multilabel_schema(3), 5000, 4);
  for (std::size_t i = 0; i < 5000; ++i) {
    rows.propensity[i] = 0.5;
    rows.targets[0][i] = i % 2 == 0 ? 0.2 : 0.6;  // weights average 0.8
  }
  CHECK(warns_of(evaluate_column(rows), "average 0.8 instead of 1"));
  for (std::size_t i = 0; i < 5000; ++i) rows.targets[0][i] = i == 77 ? 0.5 : 1e-7;
  const PolicyReport report = evaluate_column(rows);
  CHECK(warns_of(report, "effective sample size"));
  CHECK(warns_of(report, "single row"));
  for (std::size_t i = 0; i < 5000; ++i) rows.targets[0][i] = i % 2 == 0 ? 0.4 : 0.6;
  CHECK(evaluate_column(rows).diagnostics.warnings.empty());
}

TEST_CASE("evaluate: ips is not doubted because dm warns") {
  Schema schema = continuous_schema(2);
  const Policy policy = random_policy(PolicyKind::gaussian, schema, 1);
  LoggedRows rows = own_rows(policy, schema, 3000);
  for (std::size_t i = 0; i < rows.loss.size(); ++i) rows.loss[i] = std::sin(static_cast<double>(i));
  MemorySource source = make_source(rows);
  EvaluateOptions options;
  options.estimators = {"ips", "dm"};
  options.model = fit_ridge_model(source, {}, {});
  const PolicyReport report = evaluate_one(rows, policy, options);
  CHECK(report.diagnostics.warnings.size() == 1);
  CHECK(warns_of(report, "dm: its interval knows nothing of the model's bias"));
  CHECK(!find_estimate(report, "ips").doubted);
  CHECK(find_estimate(report, "dm").doubted);
  for (const Estimate& difference : report.difference->estimates) {
    CAPTURE(difference.estimator);
    CHECK(difference.doubted == (difference.estimator == "dm"));
  }
}

TEST_CASE("evaluate: one undefined estimator leaves the others undoubted, and few effective rows none") {
  LoggedRows rows = random_rows(multilabel_schema(3), 5000, 4);
  std::fill(rows.propensity.begin(), rows.propensity.end(), 0.5);
  for (std::size_t i = 0; i < 5000; ++i) rows.targets[0][i] = i % 2 == 0 ? 0.4 : 0.6;
  for (double& loss : rows.loss) loss = -std::abs(loss) - 1;
  EvaluateOptions options;
  options.estimators = {"ips", "ls"};
  options.loss_threshold = -1e6;
  PolicyReport report = evaluate_column(rows, options);
  CHECK(warns_of(report, "ls: its bound says nothing about --at-least"));
  CHECK(find_estimate(report, "ls").doubted);
  CHECK(!find_estimate(report, "ips").doubted);
  for (std::size_t i = 0; i < 5000; ++i) rows.targets[0][i] = i == 77 ? 0.5 : 1e-7;
  report = evaluate_column(rows, options);
  CHECK(find_estimate(report, "ls").doubted);
  CHECK(find_estimate(report, "ips").doubted);
}

TEST_CASE("evaluate: what makes no sense is an error of its kind") {
  const LoggedRows rows = random_rows(continuous_schema(2), 10, 3);
  const Policy policy = random_policy(PolicyKind::gaussian, rows.schema, 1);
  const auto kind_of = [&](const LoggedRows& data, const EvaluateOptions& options) -> std::string {
    try {
      evaluate_one(data, policy, options);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).size() > 20);
      return error.kind() == ErrorKind::usage ? "usage" : "data";
    }
    return "none";
  };
  CHECK(kind_of(rows, {}) == "none");
  CHECK(kind_of(random_rows(continuous_schema(2), 0, 3), {}) == "data");
  EvaluateOptions options = with_normal_intervals();
  options.estimators = {"ips", "magic"};
  CHECK(kind_of(rows, options) == "usage");
  options.estimators = {"additive"};
  CHECK(kind_of(rows, options) == "data");
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    CAPTURE(bad);
    options = {};
    options.alpha = bad;
    CHECK(kind_of(rows, options) == "usage");
    options = {};
    options.clip = bad;
    CHECK(kind_of(rows, options) == "usage");
  }
  for (const double bad : {0.0, 1.0, -0.5, 1.5, 95.0, std::nan("")}) {
    options = {};
    options.level = bad;
    CHECK(kind_of(rows, options) == "usage");
  }
}

TEST_CASE("evaluate: the estimators asked for come in the order asked, and all names are known") {
  const LoggedRows rows = random_rows(continuous_schema(2), 10, 3);
  EvaluateOptions options = with_normal_intervals();
  options.estimators = {"snips", "ips"};
  const PolicyReport report = evaluate_one(rows, random_policy(PolicyKind::gaussian, rows.schema, 1), options);
  REQUIRE(report.estimates.size() == 2);
  CHECK(report.estimates[0].estimator == "snips");
  CHECK(report.estimates[1].estimator == "ips");
  CHECK(estimator_names() == std::vector<std::string>{"ips", "clipped", "snips", "ips-ix", "additive", "ls", "dm", "dr",
                                                      "sndr", "switch-dr", "dros", "additive-dr"});
}
