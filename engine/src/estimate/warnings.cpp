#include "estimate/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/intervals/automatic.hpp"
#include "scrm/engine/pass/summary.hpp"

namespace scrm {
namespace {

constexpr double kSuspiciousZ = 3;
constexpr double kSmallEssShare = 0.01;
constexpr double kLargeRowShare = 0.1;

// Weights beyond this are to blame themselves for what overflows.
constexpr double kHugeWeight = 1e100;

/// Weights that hardly vary are as many standard errors away as rounding likes.
std::string errors_away(double z) {
  constexpr double kMost = 1000;
  return std::abs(z) > kMost ? "more than 1,000" : fmt::format("{:.1f}", std::abs(z));
}

}  // namespace

void add_overflow_warnings(const Overflows& overflows, Diagnostics& diagnostics) {
  const bool losses = diagnostics.max_weight.value_or(kHugeWeight) < kHugeWeight;
  const char* what = losses ? "the losses are so large" : "the weights are so large";
  const char* advice = losses ? "; divide all losses by a constant" : "";
  const auto warn = [&](const std::vector<std::string>& names, const char* which, const char* without) {
    if (names.empty()) return;
    diagnostics.warnings.push_back(fmt::format("{} that {} of {} {} beyond the largest number{}{}", what, which,
                                               fmt::join(names, ", "), names.size() == 1 ? "is" : "are", without,
                                               advice));
  };
  warn(overflows.values, "the value", ": it is left out");
  warn(overflows.standard_errors, "the variance", ": there is no standard error and no interval");
  warn(overflows.intervals, "the interval", ": it is left out");
}

void add_label_weight_warning(double mean, double taken, double error, Diagnostics& diagnostics) {
  const double unexplained = mean > 0 ? mean : std::min(mean + taken, 0.0);
  if (!(std::abs(unexplained) > kSuspiciousZ * error) || rounds_to_one(1 + unexplained)) return;
  diagnostics.warnings.push_back(fmt::format(
      "additive: the weights of the labels add up to {:.4g} {} than their number ({:.1f} standard errors away): the "
      "recorded label_propensity is wrong, or the logging policy never sets or never leaves out some label",
      std::abs(unexplained), mean > 0 ? "more" : "less", std::abs(unexplained) / error));
}

void add_underflow_warning(const Moments& loss, bool reward, Diagnostics& diagnostics) {
  if (!squares_vanish(loss)) return;
  const char* what = reward ? "rewards" : "losses";
  diagnostics.warnings.push_back(
      fmt::format("the {0} are so small that their squares vanish: standard errors are too small and intervals too "
                  "narrow; multiply all {0} by a constant",
                  what));
}

void IntervalDoubts::add(const std::string& name, const Shape& shape) {
  if (!shape.varies())
    without_spread.push_back(name);
  else if (is_decided_by_few(shape))
    add_decided_by_few(name, shape);
  else if (hides_large_terms(shape))
    hiding.push_back(name);
}

void IntervalDoubts::add_difference(const std::string& name, const Shape& shape) {
  // One that does not vary is that of a policy to itself.
  if (!is_difference_doubtful(shape, weights.value_or(Shape{}))) return;
  Shape least = shape;
  if (weights) least.concentration = std::max(shape.concentration, weights->concentration);
  add_decided_by_few(name, least);
}

void IntervalDoubts::add_decided_by_few(const std::string& name, const Shape& shape) {
  decided_by_few.push_back(name);
  const double deciding = 1 / shape.concentration;
  fewest = fewest > 0 ? std::min(fewest, deciding) : deciding;
}

bool IntervalDoubts::has(const std::string& name) const {
  const auto in = [&name](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return in(decided_by_few) || in(without_spread) || in(hiding);
}

bool add_interval_warnings(const IntervalDoubts& doubts, bool clustered, double rows, Diagnostics& diagnostics) {
  std::vector<std::string>& warnings = diagnostics.warnings;
  constexpr const char* kAdvice = "log more rows, or evaluate with --outcome-range and --interval cressie-read";
  if (!doubts.without_spread.empty()) {
    warnings.push_back(fmt::format("{}: nothing varies in the rows seen, and the interval knows of nothing else; {}",
                                   fmt::join(doubts.without_spread, ", "), kAdvice));
  }
  if (!doubts.decided_by_few.empty()) {
    const double deciding = std::max(1.0, std::round(doubts.fewest));
    warnings.push_back(fmt::format("{}: {:.0f} {}, and the interval may not hold; {}",
                                   fmt::join(doubts.decided_by_few, ", "), deciding,
                                   deciding == 1 ? (clustered ? "cluster decides" : "row decides")
                                                 : (clustered ? "clusters decide" : "rows decide"),
                                   clustered ? "log more of them" : kAdvice));
  }
  if (!doubts.hiding.empty()) {
    warnings.push_back(fmt::format(
        "{}: hardly any row has a large weight and one of the outcomes that count, so that the rows seen do "
        "not show how much estimates vary, and the interval may not hold; {}",
        fmt::join(doubts.hiding, ", "), kAdvice));
  }
  const bool said = std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.find("effective sample size") != std::string::npos;
  });
  if (!doubts.weights || !diagnostics.ess || said) return false;
  // Rows of one cluster are worth less than they are: it is clusters that weights have to be spread over.
  const double all = clustered ? doubts.weights->groups : rows;
  const double effective =
      clustered ? doubts.weights->effective_groups(diagnostics.mean_weight.value_or(NAN)) : *diagnostics.ess;
  if (!are_weights_doubtful(*doubts.weights, effective, all)) return false;
  const std::string size = clustered
                               ? fmt::format("weights are spread over {:.0f} of {:.0f} clusters", effective, all)
                               : fmt::format("the effective sample size is {:.0f} of {:.0f} rows", effective, all);
  warnings.push_back(fmt::format(
      "{}, with heavy weights among them: rows of a kind that was not logged could change the estimates, and "
      "intervals may not hold",
      size));
  return true;
}

void add_weight_warnings(double rows, bool certain, Diagnostics& diagnostics) {
  std::vector<std::string>& warnings = diagnostics.warnings;
  if (rows < 2) {
    warnings.push_back("there is only one row: no variance, no standard error and no interval can be given");
  }
  if (diagnostics.mean_weight == 0.0) {
    warnings.push_back(
        "every weight is zero: the policy never takes an action that was logged, so the data says nothing about it");
    return;
  }
  const double z = diagnostics.mean_weight_z.value_or(0);
  if ((std::abs(z) > kSuspiciousZ || certain) && !rounds_to_one(diagnostics.mean_weight.value_or(NAN))) {
    warnings.push_back(
        fmt::format("weights average {:.4g} instead of 1{}: the recorded propensities are wrong, or the logging policy "
                    "never takes some "
                    "actions that this policy takes",
                    diagnostics.mean_weight.value_or(NAN),
                    certain ? "" : fmt::format(" ({} standard errors away)", errors_away(z))));
  }
  diagnostics.small_ess = diagnostics.ess && *diagnostics.ess < kSmallEssShare * rows;
  if (diagnostics.small_ess) {
    warnings.push_back(
        fmt::format("the effective sample size is {:.0f} of {:.0f} rows ({:.2g} %): this policy is too far from the "
                    "logged one for these "
                    "numbers to be trusted",
                    *diagnostics.ess, rows, 100 * *diagnostics.ess / rows));
  }
  if (rows > 1 && diagnostics.max_weight_share.value_or(0) > kLargeRowShare) {
    warnings.push_back(fmt::format("a single row holds {:.0f} % of the total weight: the estimate rests on it",
                                   100 * *diagnostics.max_weight_share));
  }
}

std::string difference_name(const std::string& estimator, const std::string& baseline) {
  return fmt::format("{} minus {}", estimator, baseline);
}

void mark_doubted(const IntervalDoubts& doubts, bool all, bool difference_is_zero, PolicyReport& report) {
  for (Estimate& estimate : report.estimates) estimate.doubted = all || doubts.has(estimate.estimator);
  if (!report.difference) return;
  for (Estimate& estimate : report.difference->estimates) {
    const bool own = doubts.has(difference_name(estimate.estimator, report.difference->baseline));
    estimate.doubted = all || own || (!difference_is_zero && doubts.has(estimate.estimator));
  }
}

}  // namespace scrm
