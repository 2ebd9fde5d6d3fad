/// check_report: compares everything a report says about one policy with the reference formulas.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "scrm/engine/estimate/evaluate.hpp"
#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"

namespace scrm::testing {

/// All that the reference needs to know about one policy.
struct ExpectedPolicy {
  reference::Reals w, y;
  reference::Reals excess;  ///< S of the additive estimator; empty when it does not apply
};

inline const Estimate& find_estimate(const PolicyReport& report, const std::string& name) {
  for (const Estimate& estimate : report.estimates) {
    if (estimate.estimator == name) return estimate;
  }
  FAIL("no estimate named " << name);
  return report.estimates.front();
}

inline double value_or_nan(const std::optional<double>& value) {
  return value.value_or(std::nan(""));
}

/// Values may cancel to nothing, so they and the ends of intervals are compared on the scale of the larger of |value|
/// and standard error, which is what a reader would judge a difference by; spreads on their own scale, or on that of
/// the rounding that no formula can avoid.
inline void check_estimate(const Estimate& actual, const reference::Estimated& expected, double half_width,
                           double tolerance) {
  CAPTURE(actual.estimator);
  const bool spread = std::isfinite(expected.standard_error);
  const long double scale = std::max(std::abs(expected.value), spread ? expected.standard_error : 0.0L);
  CHECK(relative_error(value_or_nan(actual.value), expected.value, scale) <= tolerance);
  CHECK(actual.standard_error.has_value() == spread);
  CHECK(actual.low.has_value() == spread);
  CHECK(actual.high.has_value() == spread);
  if (!spread) return;
  const long double noise = std::max(expected.standard_error, expected.noise);
  CHECK(relative_error(value_or_nan(actual.standard_error), expected.standard_error, noise) <= tolerance);
  const long double wide = scale + half_width;
  CHECK(relative_error(value_or_nan(actual.low), expected.value - half_width, wide) <= tolerance);
  CHECK(relative_error(value_or_nan(actual.high), expected.value + half_width, wide) <= tolerance);
}

/// Options whose intervals the references know.
inline EvaluateOptions with_normal_intervals() {
  EvaluateOptions options;
  options.interval = IntervalKind::normal;
  return options;
}

/// The factor of the standard error in a normal or Student interval.
inline reference::Real interval_factor(const EvaluateOptions& options, std::size_t rows) {
  if (options.interval == IntervalKind::normal) return reference::normal_quantile(options.level);
  if (rows < 2) return 0;
  static std::map<std::pair<double, std::size_t>, reference::Real> known;  // bisecting an integral takes its time
  const auto [found, is_new] = known.try_emplace({options.level, rows}, 0);
  if (is_new) found->second = reference::student_quantile(options.level, static_cast<reference::Real>(rows - 1));
  return found->second;
}

inline void check_diagnostics(const Diagnostics& actual, const reference::Reals& w, double tolerance) {
  const reference::Estimated mean = reference::average(w);
  const long double largest = *std::max_element(w.begin(), w.end());
  CHECK(relative_error(value_or_nan(actual.mean_weight), mean.value) <= tolerance);
  CHECK(relative_error(value_or_nan(actual.max_weight), largest) <= tolerance);
  CHECK(relative_error(value_or_nan(actual.ess), reference::effective_sample_size(w)) <= tolerance);
  CHECK(relative_error(value_or_nan(actual.max_weight_share), largest / reference::sum(w)) <= tolerance);
  CHECK(actual.mean_weight_z.has_value() == (w.size() > 1));
  if (w.size() < 2) return;
  // A mean that is right to 1e-12 of itself leaves z wrong by 1e-12 of mean / se.
  const long double z = (mean.value - 1) / mean.standard_error;
  const long double scale = std::max(std::abs(z), mean.value / mean.standard_error);
  CHECK(relative_error(value_or_nan(actual.mean_weight_z), z, scale) <= tolerance);
}

/// For normal and Student intervals.
inline void check_report(const PolicyReport& actual, const ExpectedPolicy& expected, const EvaluateOptions& options,
                         double tolerance) {
  CAPTURE(actual.name);
  const std::size_t rows = expected.y.size();
  const reference::Real alpha = options.alpha ? *options.alpha : 1 / static_cast<reference::Real>(rows);
  const reference::Real clip = options.clip ? *options.clip : reference::automatic_clip(expected.w);
  const reference::Real factor = interval_factor(options, rows);
  const auto check = [&](const char* name, const reference::Estimated& estimate) {
    check_estimate(find_estimate(actual, name), estimate, static_cast<double>(factor * estimate.standard_error),
                   tolerance);
  };
  reference::Estimated snips = reference::snips(expected.w, expected.y);
  if (rows < 2) snips.standard_error = std::nan("");  // one row says nothing about spread
  check("ips", reference::ips(expected.w, expected.y));
  check("clipped", reference::clipped(expected.w, expected.y, clip));
  check("snips", snips);
  check("ips-ix", reference::ips_ix(expected.w, expected.y, alpha));
  CHECK(actual.estimates.size() == (expected.excess.empty() ? 4 : 5));
  if (!expected.excess.empty()) check("additive", reference::additive(expected.excess, expected.y));
  CHECK(relative_error(value_or_nan(find_estimate(actual, "clipped").parameter), clip) <= tolerance);
  CHECK(relative_error(value_or_nan(find_estimate(actual, "ips-ix").parameter), alpha) <= 1e-16);
  check_diagnostics(actual.diagnostics, expected.w, tolerance);
}

}  // namespace scrm::testing
