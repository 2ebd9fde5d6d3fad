#include <cmath>

#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

PointEstimate snips(const PolicyTotals& totals) {
  PointEstimate out;
  if (!(totals.weight.mean > 0)) {
    out.undefined_reason =
        "every weight is zero: the policy never takes a logged action, and self-normalised weights are undefined";
    return out;
  }
  // Means in a common unit of weight: their ratio has none.
  Moments ips = totals.weighted_loss;
  Moments weight = totals.weight;
  const int unit = std::max(ips.exponent, weight.exponent);
  ips.rescale(unit);
  weight.rescale(unit);
  out.value = ips.mean / weight.mean;
  out.standard_error = std::ldexp(totals.square.root_square_sum_around(out.value), -unit) / (totals.rows * weight.mean);
  // The averaged terms are w (y − value) / mean(w). Their extremes depend on the value, which is known only at the end
  // of the pass: the range of w y plus |value| times the range of w bounds them.
  out.range = (std::ldexp(ips.range(), -unit) + std::abs(out.value) * std::ldexp(weight.range(), -unit)) / weight.mean;
  return out;
}

/// Σ v (y − centre), the held rows included.
double weighted_away(const DifferenceSums& sums, double centre) {
  double total = sums.difference.first + (sums.difference.centre - centre) * sums.difference.total;
  for (int h = 0; h < sums.held.count; ++h) {
    const PairedRow& row = sums.held.rows[static_cast<std::size_t>(h)];
    total += (row.weight - row.baseline) * (row.loss - centre);
  }
  return total;
}

/// S − R for S = Σ w y / Σ w and R = Σ u y / Σ u. To first order a row adds d = w (y − S) / w̄ − u (y − R) / ū to n
/// times it, and the variance is Σ d² / n². With v = w − u that is d = v (y − S) / w̄ + u h(y) for a line h which is
/// small when the two are near each other: what is squared and summed is small then, not the difference of large sums.
PointEstimate difference(const DifferenceTotals& totals) {
  const double w = totals.mean_weight, u = totals.baseline_mean_weight;
  const double s = totals.policy.value, r = totals.baseline.value;
  PointEstimate out;
  constexpr double kFarApart = 0x1p20;  // beyond it rounding takes the digits of d
  if (!(w < kFarApart * u && u < kFarApart * w)) {
    out.undefined_reason = "the mean weights of the two are too far apart to be compared";
    return out;
  }
  const DifferenceSums& sums = totals.sums;
  // Σ w (y − S) = Σ u (y − R) = 0, so that only v is left above the line.
  out.value = (w < u ? weighted_away(sums, s) / u : weighted_away(sums, r) / w) / totals.rows;
  const auto line = [&](double y) { return (y - s) / w - (y - r) / u; };
  const double slope = (u - w) / w / u;
  const double root = sums.squared_difference.root_square_sum_around(s) / w;
  const double at_mean = line(sums.squared_baseline.mean);
  const double baseline =
      std::ldexp(slope * slope * sums.squared_baseline.square_sum + sums.squared_baseline.weight * at_mean * at_mean,
                 2 * sums.squared_baseline.exponent);
  const SignedMoments& product = sums.product;
  const double away = product.centre - s, height = line(product.centre);
  const double both =
      (slope * product.second + (height + away * slope) * product.first + away * height * product.total) / w;
  double total = root * root + 2 * both + baseline;
  if (total < 0) total = 0;  // by rounding alone
  for (int h = 0; h < sums.held.count; ++h) {
    const PairedRow& row = sums.held.rows[static_cast<std::size_t>(h)];
    const double d = (row.weight - row.baseline) * ((row.loss - s) / w) + row.baseline * line(row.loss);
    total += d * d;
  }
  out.standard_error = std::sqrt(total) / totals.rows;
  out.range = totals.policy.range + totals.baseline.range;  // a bound, as either is
  return out;
}

}  // namespace

/// Self-normalised: Σ w y / Σ w, variance Σ w² (y − value)² / (Σ w)².
const Estimator kSnipsEstimator = {
    .name = "snips",
    .formula = "sum(w y) / sum(w)",
    .point = snips,
    .replicate = [](const ReplicateTotals& totals) { return totals.weighted_loss / totals.weight; },
    .influence =
        [](const ReplicateTotals& all, const ReplicateTotals& group) {
          return (group.weighted_loss - all.weighted_loss / all.weight * group.weight) / (all.weight / all.rows);
        },
    .difference = difference,
    .learning = LearningRule{.form = RiskForm::ratio},
};

}  // namespace scrm
