#include "estimate/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimate/intervals/automatic.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/pass/summary.hpp"

namespace scrm {
namespace {

constexpr double kSuspiciousZ = 3;
constexpr double kSmallEssShare = 0.01;
constexpr double kLargeRowShare = 0.1;

// Weights beyond this are to blame themselves for what overflows.
constexpr double kHugeWeight = 1e100;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// How many standard errors: weights that hardly vary are as many away as rounding likes.
std::string standard_errors_away(double z) {
  constexpr double kMostShown = 1000;
  if (std::abs(z) > kMostShown) return "more than 1,000 standard errors away";
  return fmt::format("{:.1f} standard errors away", std::abs(z));
}

/// Weights that are missing are heavy ones, and lower the mean: then it is rather they than wrong propensities, by
/// chance or for good.
void add_mean_weight_warning(const MeanWeightCheck& check, const Diagnostics& diagnostics, Warnings& warnings) {
  const double mean = diagnostics.mean_weight.value_or(NAN), z = diagnostics.mean_weight_z.value_or(0);
  if (rounds_to_one(mean)) return;
  const bool known = check.weights && check.weights->varies();
  if (!check.certain) {
    if (!(std::abs(z) > kSuspiciousZ)) return;
    if (known && !is_mean_weight_off({.mean = mean,
                                      .z = z,
                                      .groups = check.groups,
                                      .largest = diagnostics.max_weight.value_or(NAN),
                                      .largest_share = diagnostics.max_weight_share.value_or(1)},
                                     *check.weights)) {
      if (mean < 1)
        warnings.add(fmt::format(
            "weights average {:.4g} instead of 1: too few rows have the large weights that this policy calls "
            "for, and intervals may not hold",
            mean));
      return;
    }
  }
  constexpr const char* kWrong = "the recorded propensities are wrong";
  constexpr const char* kMissing = "the logging policy never takes some actions that this policy takes";
  const bool missing = mean < 1 && known && has_heavy_weights(*check.weights);
  warnings.add(fmt::format("weights average {:.4g} instead of 1{}: {}, or {}", mean,
                           check.certain ? "" : fmt::format(" ({})", standard_errors_away(z)),
                           missing ? kMissing : kWrong, missing ? kWrong : kMissing));
}

}  // namespace

bool Warning::is_about(const std::string& name) const {
  return about.empty() || contains(about, name);
}

void Warnings::add_about(std::vector<std::string> names, const std::string& text) {
  std::string whole = fmt::format("{}: {}", fmt::join(names, ", "), text);
  all_.push_back({std::move(names), std::move(whole)});
}

bool Warnings::doubt(const std::string& name) const {
  return std::any_of(all_.begin(), all_.end(), [&name](const Warning& one) { return one.is_about(name); });
}

bool Warnings::doubt_policy() const {
  return std::any_of(all_.begin(), all_.end(), [](const Warning& one) { return one.about.empty(); });
}

std::vector<std::string> Warnings::texts() const {
  std::vector<std::string> out;
  for (const Warning& one : all_) out.push_back(one.text);
  return out;
}

void add_overflow_warnings(const Overflows& overflows, const std::optional<double>& max_weight, Warnings& warnings) {
  const bool losses = max_weight.value_or(kHugeWeight) < kHugeWeight;
  const char* what = losses ? "the losses are so large" : "the weights are so large";
  const char* advice = losses ? "; divide all losses by a constant" : "";
  const auto warn = [&](const std::vector<std::string>& names, const char* one, const char* many, const char* missing) {
    if (names.empty()) return;
    warnings.add({names, fmt::format("{} that the {} of {} {} beyond the largest number: {}{}", what,
                                     names.size() == 1 ? one : many, fmt::join(names, ", "),
                                     names.size() == 1 ? "is" : "are", missing, advice)});
  };
  warn(overflows.values, "value", "values", overflows.values.size() == 1 ? "it is left out" : "they are left out");
  warn(overflows.standard_errors, "variance", "variances", "there is no standard error and no interval");
  warn(overflows.intervals, "interval", "intervals",
       overflows.intervals.size() == 1 ? "it is left out" : "they are left out");
}

void add_label_weight_warning(double mean, double taken, double error, Warnings& warnings) {
  const double unexplained = mean > 0 ? mean : std::min(mean + taken, 0.0);
  if (!(std::abs(unexplained) > kSuspiciousZ * error) || rounds_to_one(1 + unexplained)) return;
  warnings.add_about(
      {kAdditiveEstimator.name},
      fmt::format("the weights of the labels add up to {:.4g} {} than their number ({}): the "
                  "recorded label_propensity is wrong, or the logging policy never sets or never leaves out some label",
                  std::abs(unexplained), mean > 0 ? "more" : "less", standard_errors_away(unexplained / error)));
}

void add_underflow_warning(const Moments& loss, bool reward, Warnings& warnings) {
  if (!squares_vanish(loss)) return;
  const char* what = reward ? "rewards" : "losses";
  warnings.add(
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
  return contains(decided_by_few, name) || contains(without_spread, name) || contains(hiding, name);
}

void add_interval_warnings(const IntervalDoubts& doubts, bool clustered, double rows, const Diagnostics& diagnostics,
                           Warnings& warnings) {
  constexpr const char* kAdvice = "log more rows, or evaluate with --outcome-range and --interval cressie-read";
  if (!doubts.without_spread.empty()) {
    warnings.add_about(
        doubts.without_spread,
        fmt::format("all terms are equal in these rows, so the interval has no width and cannot be trusted; {}",
                    kAdvice));
  }
  if (!doubts.decided_by_few.empty()) {
    const double deciding = std::max(1.0, std::round(doubts.fewest));
    warnings.add_about(doubts.decided_by_few,
                       fmt::format("{:.0f} {}, and the interval may not hold; {}", deciding,
                                   deciding == 1 ? (clustered ? "cluster decides" : "row decides")
                                                 : (clustered ? "clusters decide" : "rows decide"),
                                   clustered ? "log more of them" : kAdvice));
  }
  if (!doubts.hiding.empty()) {
    warnings.add_about(doubts.hiding,
                       fmt::format("almost no row has both a large weight and a rare outcome, so these rows understate "
                                   "the variance and the interval may be too narrow; {}",
                                   kAdvice));
  }
  if (!doubts.weights || !diagnostics.ess || diagnostics.small_ess) return;
  // Rows of one cluster are worth less than they are: it is clusters that weights have to be spread over.
  const double all = clustered ? doubts.weights->groups : rows;
  const double effective =
      clustered ? doubts.weights->effective_groups(diagnostics.mean_weight.value_or(NAN)) : *diagnostics.ess;
  if (!are_weights_doubtful(*doubts.weights, effective, all)) return;
  const std::string size = clustered
                               ? fmt::format("weights are spread over {:.0f} of {:.0f} clusters", effective, all)
                               : fmt::format("the effective sample size is {:.0f} of {:.0f} rows", effective, all);
  warnings.add(
      fmt::format("{}, with heavy weights among them: rows of a kind that was not logged could change the estimates, "
                  "and intervals may not hold",
                  size));
}

void add_weight_warnings(double rows, const MeanWeightCheck& check, Diagnostics& diagnostics, Warnings& warnings) {
  if (rows < 2) warnings.add("there is only one row: no variance, no standard error and no interval can be given");
  if (diagnostics.mean_weight == 0.0) {
    warnings.add(
        "every weight is zero: the policy never takes an action that was logged, so the data says nothing about it");
    return;
  }
  add_mean_weight_warning(check, diagnostics, warnings);
  diagnostics.small_ess = diagnostics.ess && *diagnostics.ess < kSmallEssShare * rows;
  if (diagnostics.small_ess) {
    warnings.add(
        fmt::format("the effective sample size is {:.0f} of {:.0f} rows ({:.2g} %): this policy is too far from the "
                    "logged one for these numbers to be trusted",
                    *diagnostics.ess, rows, 100 * *diagnostics.ess / rows));
  }
  if (rows > 1 && diagnostics.max_weight_share.value_or(0) > kLargeRowShare) {
    warnings.add(fmt::format("a single row holds {:.0f} % of the total weight: the estimate rests on it",
                             100 * *diagnostics.max_weight_share));
  }
}

std::string difference_name(const std::string& estimator, const std::string& baseline) {
  return fmt::format("{} minus {}", estimator, baseline);
}

void mark_doubted(const Warnings& warnings, bool difference_is_zero, PolicyReport& report) {
  for (Estimate& estimate : report.estimates) estimate.doubted = warnings.doubt(estimate.estimator);
  if (!report.difference) return;
  for (Estimate& estimate : report.difference->estimates) {
    const bool own = warnings.doubt(difference_name(estimate.estimator, report.difference->baseline));
    // What a model expects differs from the losses even so.
    const bool zero = difference_is_zero && !find_estimator(estimate.estimator).needs_model;
    estimate.doubted = warnings.doubt_policy() || own || (!zero && warnings.doubt(estimate.estimator));
  }
}

}  // namespace scrm
