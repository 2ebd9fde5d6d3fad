/// Shape: how far the distribution of an estimate is from a normal one, from sums over groups of rows.
#pragma once

#include <optional>
#include <vector>

#include "estimate/groups/group_layout.hpp"

namespace scrm {

/// To first order an estimate is a sum of what each group of rows adds to it, d_g = n (its influence). These are the
/// moments of that sum.
struct Shape {
  double groups = 0;
  double standard_error = 0;  ///< √(G/(G−1) Σ d²) / n: right for dependent rows too, where groups are clusters
  // With j_g, what the estimate without a group differs by, in place of d_g: j = d (1 − 1/G) / (1 − h), where h is the
  // share of the group in the weights (of snips) or in the rows. A row that holds much of the weight draws the estimate
  // to itself, and its d is small for that reason alone. Rows that count alike have j = d.
  double skewness = 0;       ///< Σ j³ / (Σ j²)^1.5, between −1 and 1: that of the estimate itself
  double concentration = 0;  ///< Σ j⁴ / (Σ j²)²: one over the number of groups that decide; 1 where one does
  double leverage = 1;       ///< √(Σ j² / Σ d²) or 1: the jackknife's standard error over the estimate's own
  double ratio_bias = 0;     ///< Σ j / n: of a ratio, by how much the jackknife takes it to be too low

  /// What skewness and concentration are to be expected of terms w (y − b): that of large weights with losses as the
  /// policy meets them (E[wʲ] E_π[(y − b)ʲ] in place of E[wʲ (y − b)ʲ]). Where few rows have both a large weight and an
  /// outcome, the terms seen do not show them. 0 where rows are not known one by one.
  double expected_skewness = 0, expected_concentration = 0;

  bool either_side = false;  ///< what is missing may lie on either side: the skewness counts with both signs

  /// Whether anything varies at all.
  bool varies() const noexcept { return concentration > 0; }
  /// How many groups of equal sums would give a mean of this size with this error: of weights, the effective ones.
  double effective_groups(double mean) const noexcept {
    const double error = standard_error / mean;
    return 1 / (error * error * (groups - 1) / groups + 1 / groups);
  }
};

/// The shape of a policy's difference, given that of its value: terms of rows in which the two agree cancel, and with
/// them what they tell of how heavy the outcomes are. Where the value is the more skewed one, the difference is taken
/// to be so as well, to either side.
Shape with_hidden_skewness(const Shape& difference, const Shape& value);

/// Empty where the estimate is not defined. `totals` are those of the table.
std::optional<Shape> shape_of(const GroupTable& table, const std::vector<double>& totals, const EstimateColumn& column);
/// That of the mean loss of the logged actions.
Shape shape_of_losses(const GroupTable& table, const std::vector<double>& totals);
/// That of the mean weight of a policy.
Shape shape_of_weights(const GroupTable& table, const std::vector<double>& totals, std::size_t policy);
/// That of the mean of Σ_k (w_k − 1) over the labels, of tables that have it.
Shape shape_of_label_weights(const GroupTable& table, const std::vector<double>& totals, std::size_t policy);

}  // namespace scrm
