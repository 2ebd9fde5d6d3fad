// labels: slow statistical
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "scrm/engine/estimate/evaluate.hpp"
#include "support/reference/check_report.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr int kSets = 1000;
constexpr std::int64_t kRows = 500;

/// Actions N(0, 1), losses that depend on them smoothly and stay in [-1, 1], and a target close by.
LoggedRows benign_rows(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  LoggedRows rows;
  rows.rows = kRows;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const double a = normal(random);
    rows.action.push_back(a);
    rows.loss.push_back(0.8 * std::cos(a) + uniform(random, -0.2, 0.2));
    rows.propensity.push_back(static_cast<double>(std::exp(reference::gaussian_log_density(a, 0, 1))));
  }
  return rows;
}

/// How often the interval of each estimator holds the truth e^{-σ²/2} cos μ · 0.8, over all data sets.
std::map<std::string, double> coverage(IntervalKind interval) {
  Policy target;
  target.theta = {0.2};
  target.scale = 0.9;
  const double truth = 0.8 * std::exp(-0.5 * 0.9 * 0.9) * std::cos(0.2);
  std::map<std::string, double> out;
  for (int set = 0; set < kSets; ++set) {
    const LoggedRows rows = benign_rows(static_cast<std::uint64_t>(set) + 1000);
    MemorySource source = make_source(rows);
    EvaluateOptions options;
    options.interval = interval;
    options.estimators = {"ips", "snips"};
    options.seed = static_cast<std::uint64_t>(set);
    const EvaluationReport report =
        evaluate(source, {{"target", make_target_policy(target, rows.schema, "target")}}, options, {});
    for (const Estimate& estimate : report.policies[0].estimates) {
      const bool held = value_or_nan(estimate.low) <= truth && truth <= value_or_nan(estimate.high);
      out[estimate.estimator] += held ? 100.0 / kSets : 0.0;
    }
  }
  return out;
}

}  // namespace

// With a true coverage of 95 % the share over 1,000 sets has a standard deviation of 0.69 %: [93, 97] is ±2.9 of them,
// a false-alarm rate of 0.4 % for each of the six shares checked. Seeds are fixed, so a test that passes stays passing.
TEST_CASE(
    "intervals: normal, student and bootstrap intervals at 95 % hold the truth in 93 to 97 % of 1,000 data sets") {
  for (const IntervalKind interval : {IntervalKind::normal, IntervalKind::student, IntervalKind::bootstrap}) {
    for (const auto& result : coverage(interval)) {
      const std::string estimator = result.first;
      const double percent = result.second;
      CAPTURE(static_cast<int>(interval));
      CAPTURE(estimator);
      CAPTURE(percent);
      CHECK(percent >= 93.0);
      CHECK(percent <= 97.0);
    }
  }
}

// Bernstein's interval is wider than needed for 95 %: at a true coverage above 99 % fewer than 95 % is out of reach.
TEST_CASE("intervals: bernstein intervals at 95 % hold the truth in at least 95 % of 1,000 data sets") {
  for (const auto& result : coverage(IntervalKind::bernstein)) {
    CAPTURE(result.first);
    CHECK(result.second >= 95.0);
  }
}
