// labels: fast
#include "scrm/engine/estimate/estimator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/io/file/error.hpp"
#include "support/reference/check_report.hpp"
#include "support/reference/log_smoothing.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr double kAlpha = 0.05;

ValueAndSlope ix(double w, double alpha) {
  return {w / (1 + alpha * w), w / (1 + alpha * w) / (1 + alpha * w)};
}

/// ips-ix once more, by a function of the weight.
const Estimator kIxAgain = {
    .name = "ix-again",
    .formula = "mean(w y / (1 + alpha w))",
    .parameter = EstimatorParameter::alpha,
    .transform = WeightTransform::given,
    .weight_function = for_each_weight<ix>,
};

// α is 0 where the estimator takes none.
ValueAndSlope root(double w, double alpha) {
  return {std::sqrt(w) + alpha, std::sqrt(w) / 2};
}

/// Without a parameter, and with a value of its own.
const Estimator kRoot = {
    .name = "root",
    .formula = "mean(sqrt(w) y) + 1",
    .transform = WeightTransform::given,
    .weight_function = for_each_weight<root>,
    .point =
        [](const PolicyTotals& totals) {
          PointEstimate out = mean_of_terms(totals);
          out.value += 1;
          return out;
        },
    .replicate = [](const ReplicateTotals& totals) { return totals.terms / totals.rows + 1; },
};

void register_once() {
  static const bool done = [] {
    for (const Estimator* estimator : {&kLogSmoothing, &kIxAgain, &kRoot}) register_estimator(*estimator);
    return true;
  }();
  REQUIRE(done);
}

/// Three blocks, the last of five rows, under two policies.
struct Evaluated {
  LoggedRows rows;
  std::vector<Policy> policies;

  Evaluated() {
    Schema schema;
    schema.features = 3;
    rows = random_rows(schema, 2 * kBlockRows + 5, 7);
    for (const std::uint64_t seed : {1, 2}) policies.push_back(random_policy(PolicyKind::gaussian, schema, seed));
  }

  std::vector<PolicyReport> reports(const EvaluateOptions& options, int threads = 2) const {
    MemorySource source = make_source(rows);
    std::vector<NamedPolicy> targets;
    for (const Policy& policy : policies) targets.push_back({"it", make_target_policy(policy, rows.schema, "it")});
    PassOptions pass;
    pass.threads = threads;
    return evaluate(source, targets, options, pass).policies;
  }
};

EvaluateOptions options_with(IntervalKind interval, std::vector<std::string> estimators) {
  EvaluateOptions options;
  options.interval = interval;
  options.alpha = kAlpha;
  options.estimators = std::move(estimators);
  options.replicates = 300;
  return options;
}

constexpr IntervalKind kIntervals[] = {IntervalKind::normal, IntervalKind::student, IntervalKind::bernstein,
                                       IntervalKind::bootstrap};

}  // namespace

TEST_CASE("estimators: those registered follow the built-in ones, and are found by name") {
  register_once();
  CHECK(estimator_names() == std::vector<std::string>{"ips", "clipped", "snips", "ips-ix", "additive", "ls", "dm", "dr",
                                                      "sndr", "switch-dr", "dros", "additive-dr", "log-smoothing",
                                                      "ix-again", "root"});
  CHECK(learning_estimator_names() == std::vector<std::string>{"ips", "clipped", "snips", "ips-ix", "additive", "ls",
                                                               "dm", "dr", "dros", "additive-dr", "log-smoothing"});
  CHECK(&find_estimator("root") == &kRoot);
  CHECK(&find_learning_estimator("log-smoothing") == &kLogSmoothing);
  CHECK_THROWS_WITH_AS(
      find_estimator("magic"),
      doctest::Contains("snips, ips-ix, additive, ls, dm, dr, sndr, switch-dr, dros, additive-dr, log-smoothing"),
      Error);
  CHECK_THROWS_WITH_AS(find_learning_estimator("root"), doctest::Contains("no estimator 'root' to learn with"), Error);
}

TEST_CASE("estimators: a name that is taken and fields that contradict each other are refused") {
  const std::vector<std::string> before = estimator_names();
  static const Estimator kTaken = {.name = "ips", .formula = ""};
  static const Estimator kNoFunction = {.name = "a", .formula = "", .transform = WeightTransform::given};
  static const Estimator kUnusedFunction = {
      .name = "a", .formula = "", .weight_function = kLogSmoothing.weight_function};
  static const Estimator kGivenClip = {.name = "a",
                                       .formula = "",
                                       .parameter = EstimatorParameter::clip,
                                       .transform = WeightTransform::given,
                                       .weight_function = kLogSmoothing.weight_function};
  static const Estimator kIxWithoutAlpha = {.name = "a", .formula = "", .transform = WeightTransform::ix};
  static const Estimator kTransformedRatio = {.name = "a",
                                              .formula = "",
                                              .parameter = EstimatorParameter::alpha,
                                              .transform = WeightTransform::ix,
                                              .learning = LearningRule{.form = RiskForm::ratio}};
  static const Estimator kTunedWithoutModel = {.name = "a", .formula = "", .tuned = TunedResidual{}};
  for (const Estimator* bad : {&kTaken, &kNoFunction, &kUnusedFunction, &kGivenClip, &kIxWithoutAlpha,
                               &kTransformedRatio, &kTunedWithoutModel}) {
    CAPTURE(bad->name);
    CHECK_THROWS_WITH_AS(register_estimator(*bad), doctest::Contains("cannot be registered: "), Error);
  }
  CHECK(estimator_names() == before);
}

TEST_CASE("estimators: a function of the weight agrees with the long-double average, in every policy and interval") {
  register_once();
  const Evaluated data;
  for (const IntervalKind interval : {IntervalKind::normal, IntervalKind::student, IntervalKind::bernstein}) {
    const std::vector<PolicyReport> reports = data.reports(options_with(interval, {"root", "ips", "log-smoothing"}));
    for (std::size_t p = 0; p < reports.size(); ++p) {
      CAPTURE(p);
      CAPTURE(static_cast<int>(interval));
      const reference::Reals w = policy_weights(data.policies[p], data.rows), y = losses(data.rows);
      const auto check = [&](const char* name, reference::Estimated expected, reference::Real shift) {
        expected.value += shift;
        const auto n = static_cast<reference::Real>(w.size());
        reference::Real half = reference::bernstein_half_width(expected, n, 0.95L);
        if (interval == IntervalKind::normal) half = reference::normal_quantile(0.95L) * expected.standard_error;
        if (interval == IntervalKind::student) {
          half = reference::student_quantile(0.95L, n - 1) * expected.standard_error;
        }
        check_estimate(find_estimate(reports[p], name), expected, static_cast<double>(half), 1e-12);
      };
      const auto smoothed = [](reference::Real wi, reference::Real yi) { return log_smoothed(wi, kAlpha) * yi; };
      const auto rooted = [](reference::Real wi, reference::Real yi) { return std::sqrt(wi) * yi; };
      check("log-smoothing", reference::average(reference::map_rows(w, y, smoothed)), 0);
      check("root", reference::average(reference::map_rows(w, y, rooted)), 1);
      CHECK(find_estimate(reports[p], "log-smoothing").parameter == kAlpha);
      CHECK(!find_estimate(reports[p], "root").parameter);
    }
  }
}

TEST_CASE("estimators: ips-ix by a function of the weight is ips-ix, bootstrap included") {
  register_once();
  const Evaluated data;
  for (const IntervalKind interval : kIntervals) {
    // Beside another one, and the first of two: each has sums of its own.
    for (const PolicyReport& report : data.reports(options_with(interval, {"root", "ix-again", "ips-ix"}))) {
      const Estimate& own = find_estimate(report, "ix-again");
      const Estimate& built_in = find_estimate(report, "ips-ix");
      CAPTURE(static_cast<int>(interval));
      const auto same = [](const std::optional<double>& a, const std::optional<double>& b) {
        return relative_error(value_or_nan(a), value_or_nan(b)) <= 1e-12;
      };
      CHECK(same(own.value, built_in.value));
      CHECK(same(own.standard_error, built_in.standard_error));
      CHECK(same(own.low, built_in.low));
      CHECK(same(own.high, built_in.high));
    }
  }
}

TEST_CASE(
    "estimators: a function of the weight has the differences of ips-ix, and one with a value of its own has none") {
  register_once();
  const Evaluated data;
  for (const std::string baseline : {"logged", "it"}) {
    for (const IntervalKind interval : kIntervals) {
      CAPTURE(baseline);
      CAPTURE(static_cast<int>(interval));
      EvaluateOptions options = options_with(interval, {"root", "ix-again", "ips-ix"});
      options.baseline = baseline;  // of two policies of this name, the first
      const PolicyReport report = data.reports(options)[1];
      REQUIRE(report.difference->estimates.size() == 2);
      const Estimate &own = report.difference->estimates[0], &same = report.difference->estimates[1];
      CHECK(own.estimator == "ix-again");
      CHECK(same.estimator == "ips-ix");
      CHECK(relative_error(value_or_nan(own.value), value_or_nan(same.value)) <= 1e-12);
      CHECK(relative_error(value_or_nan(own.standard_error), value_or_nan(same.standard_error)) <= 1e-12);
      CHECK(relative_error(value_or_nan(own.low), value_or_nan(same.low)) <= 1e-11);
      CHECK(relative_error(value_or_nan(own.high), value_or_nan(same.high)) <= 1e-11);
    }
  }
}

TEST_CASE("estimators: a function of the weight gives the same bits at any thread count and leaves others alone") {
  register_once();
  const Evaluated data;
  const EvaluateOptions both = options_with(IntervalKind::bootstrap, {"root", "log-smoothing", "snips"});
  const std::vector<PolicyReport> one = data.reports(both, 1);
  const std::vector<PolicyReport> three = data.reports(both, 3);
  const std::vector<PolicyReport> alone = data.reports(options_with(IntervalKind::student, {"snips"}), 1);
  for (std::size_t p = 0; p < one.size(); ++p) {
    for (std::size_t e = 0; e < one[p].estimates.size(); ++e) {
      CHECK(one[p].estimates[e].value == three[p].estimates[e].value);
      CHECK(one[p].estimates[e].standard_error == three[p].estimates[e].standard_error);
      CHECK(one[p].estimates[e].low == three[p].estimates[e].low);
      CHECK(one[p].estimates[e].high == three[p].estimates[e].high);
    }
    CHECK(find_estimate(one[p], "snips").value == find_estimate(alone[p], "snips").value);
  }
}

TEST_CASE("estimators: the effective sample size of equal weights is their number, and none without weight") {
  Moments weights = Moments::of(3);
  for (int i = 1; i < 10; ++i) weights.merge(Moments::of(3));
  CHECK(effective_sample_size(weights) == 10);
  weights.merge(Moments::of(0));
  CHECK(effective_sample_size(weights) == doctest::Approx(10).epsilon(1e-14));
  CHECK(effective_sample_size(Moments::of(0)) == 0);
}
