#include "estimate/warnings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "scrm/engine/pass/summary.hpp"

namespace scrm {
namespace {

constexpr double kSuspiciousZ = 3;
constexpr double kSmallEssShare = 0.01;
constexpr double kLargeRowShare = 0.1;

// Weights beyond this are to blame themselves for what overflows.
constexpr double kHugeWeight = 1e100;

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

void add_weight_warnings(double rows, Diagnostics& diagnostics) {
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
  const bool certain = rows > 1 && diagnostics.mean_weight && !diagnostics.mean_weight_z;  // no spread, and not one
  if ((std::abs(z) > kSuspiciousZ || certain) && !rounds_to_one(diagnostics.mean_weight.value_or(NAN))) {
    warnings.push_back(
        fmt::format("weights average {:.4g} instead of 1{}: the recorded propensities are wrong, or the logging policy "
                    "never takes some "
                    "actions that this policy takes",
                    diagnostics.mean_weight.value_or(NAN),
                    certain ? "" : fmt::format(" ({:.1f} standard errors away)", std::abs(z))));
  }
  if (diagnostics.ess && *diagnostics.ess < kSmallEssShare * rows) {
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

}  // namespace scrm
