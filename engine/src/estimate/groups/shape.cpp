#include "estimate/groups/shape.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace scrm {
namespace {

// Of what groups would add if all rows were alike, what is rounding and no variation.
constexpr double kRounding = 1e-13;

/// `value` is what d is around, per row.
template <class Influence>
Shape moments_of(const GroupTable& table, double rows, double value, Influence influence) {
  std::vector<double> all(static_cast<std::size_t>(table.groups));
  double largest = 0, most_rows = 0;
  Shape out;
  for (std::int64_t g = 0; g < table.groups; ++g) {
    if (!(table.group(g)[GroupLayout::kRows] > 0)) continue;
    out.groups += 1;
    const double d = influence(table.group(g));
    all[static_cast<std::size_t>(g)] = d;
    largest = std::max(largest, std::abs(d));
    most_rows = std::max(most_rows, table.group(g)[GroupLayout::kRows]);
  }
  if (!(largest > kRounding * std::abs(value) * most_rows) || !std::isfinite(largest)) return out;
  // In units of the largest: powers of huge terms would overflow.
  double second = 0, third = 0, fourth = 0;
  for (const double d : all) {
    const double unit = d / largest, square = unit * unit;
    second += square;
    third += square * unit;
    fourth += square * square;
  }
  out.standard_error = largest * std::sqrt(second * (out.groups / (out.groups - 1))) / rows;
  out.skewness = third / (second * std::sqrt(second));
  out.concentration = fourth / second / second;
  return out;
}

}  // namespace

Shape with_hidden_skewness(const Shape& difference, const Shape& value) {
  Shape out = difference;
  if (!difference.varies() || !value.varies() || std::abs(value.skewness) <= std::abs(difference.skewness)) return out;
  out.skewness = value.skewness;
  out.concentration = std::max(difference.concentration, value.concentration);
  out.either_side = true;
  return out;
}

std::optional<Shape> shape_of(const GroupTable& table, const std::vector<double>& totals,
                              const EstimateColumn& column) {
  const double rows = totals[GroupLayout::kRows];
  const Estimator& estimator = *column.estimator;
  if (estimator.smoothed_terms) return {};  // it is not made of the groups' sums
  const ReplicateTotals own = table.layout.totals(totals.data(), column.policy, estimator);
  const double value = table.layout.value(totals.data(), column);
  if (!std::isfinite(value)) return {};
  switch (column.baseline.kind) {
    case Baseline::Kind::logged: {
      const double mean_loss = totals[GroupLayout::kLoss] / rows;
      return moments_of(table, rows, value, [&](const double* group) {
        return influence_of(estimator, own, table.layout.totals(group, column.policy, estimator)) -
               (group[GroupLayout::kLoss] - group[GroupLayout::kRows] * mean_loss);
      });
    }
    case Baseline::Kind::policy: {
      const ReplicateTotals base = table.layout.totals(totals.data(), column.baseline.policy, estimator);
      return moments_of(table, rows, value, [&](const double* group) {
        return influence_of(estimator, own, table.layout.totals(group, column.policy, estimator)) -
               influence_of(estimator, base, table.layout.totals(group, column.baseline.policy, estimator));
      });
    }
    case Baseline::Kind::none:
      break;
  }
  return moments_of(table, rows, value, [&](const double* group) {
    return influence_of(estimator, own, table.layout.totals(group, column.policy, estimator));
  });
}

namespace {

/// Of the mean of one of the sums.
Shape shape_of_mean(const GroupTable& table, const std::vector<double>& totals, std::size_t at) {
  const double mean = totals[at] / totals[GroupLayout::kRows];
  return moments_of(table, totals[GroupLayout::kRows], mean,
                    [&](const double* group) { return group[at] - group[GroupLayout::kRows] * mean; });
}

}  // namespace

Shape shape_of_losses(const GroupTable& table, const std::vector<double>& totals) {
  return shape_of_mean(table, totals, GroupLayout::kLoss);
}

Shape shape_of_weights(const GroupTable& table, const std::vector<double>& totals, std::size_t policy) {
  return shape_of_mean(table, totals, table.layout.policy(policy) + GroupLayout::kWeight);
}

}  // namespace scrm
