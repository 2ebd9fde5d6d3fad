#include <algorithm>
#include <cmath>
#include <limits>

#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

/// The λ whose bound is least. With probability `level` the bounds of all λ of the grid hold at once, so that one may
/// choose: each gets its share of what may fail.
PointEstimate smoothed(const PolicyTotals& totals) {
  PointEstimate out;
  const double centre = totals.smoothed.front().centre;
  if (totals.loss.highest > centre) {
    out.undefined_reason =
        "it is for losses that are never above zero (rewards never below): --outcome-range says from where to measure "
        "others";
    return out;
  }
  // The most certain of the bounds that end at `loss_threshold`: again one may choose among all.
  const auto grid = static_cast<double>(totals.smoothed.size());
  double failing = 1;
  const double log_term = std::log(grid / (1 - totals.level));
  double best = std::numeric_limits<double>::infinity();
  for (const SmoothedTerms& one : totals.smoothed) {
    const double bound = centre + one.terms.true_mean() + log_term / (one.lambda * totals.rows);
    if (totals.loss_threshold) {
      const double room = *totals.loss_threshold - centre - one.terms.true_mean();
      failing = std::min(failing, grid * std::exp(-room * one.lambda * totals.rows));
    }
    if (!(bound < best)) continue;
    best = bound;
    out.value = centre + one.terms.true_mean();
    out.standard_error = one.terms.standard_deviation() / std::sqrt(one.terms.count);
    out.upper_bound = bound;
    out.parameter = one.lambda;
  }
  if (totals.loss_threshold) out.confidence = 1 - failing;
  if (!out.upper_bound) out.undefined_reason = "its terms are beyond the largest number";
  return out;
}

std::string inapplicable_reason(const Schema& schema, const TargetPolicy&) {
  return schema.cluster ? "its bound takes rows as independent, and these come in clusters" : "";
}

}  // namespace

/// Logarithmic smoothing (Sakhi, Aouali, Alquier and Chopin 2024): weights cannot dominate, and the mean plus
/// ln(1/δ) / (λ n) bounds the policy's loss from above with probability 1 − δ, whatever the weights are.
const Estimator kLogSmoothingEstimator = {
    .name = "ls",
    .formula = "mean(-log(1 - lambda w y) / lambda) for y <= 0, with its one-sided bound; only when asked for",
    .smoothed_terms = true,
    .by_default = false,
    .inapplicable_reason = inapplicable_reason,
    .point = smoothed,
    .replicate = [](const ReplicateTotals&) { return std::numeric_limits<double>::quiet_NaN(); },
    .learning = LearningRule{.form = RiskForm::smoothed},
};

}  // namespace scrm
