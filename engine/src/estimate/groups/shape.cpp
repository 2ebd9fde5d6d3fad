#include "estimate/groups/shape.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace scrm {
namespace {

// Of what groups would add if all rows were alike, what is rounding and no variation.
constexpr double kRounding = 1e-13;

/// What a group adds to the estimate, and what the estimate without it differs by.
struct Added {
  double own = 0, left_out = 0;
};

std::int64_t count_groups(const GroupTable& table) {
  std::int64_t count = 0;
  for (std::int64_t g = 0; g < table.groups; ++g) count += table.group(g)[GroupLayout::kRows] > 0;
  return count;
}

/// j / d of a group that holds some part of the total, of so many groups. One that holds everything cannot be left out.
/// Most groups have as many rows as the one before, and its factor.
class LeftOutFactor {
 public:
  LeftOutFactor(double total, std::int64_t groups) : total_(total), all_(1 - 1 / static_cast<double>(groups)) {}

  double operator()(double part) {
    if (part == part_) return factor_;
    const double rest = 1 - part / total_;
    part_ = part;
    factor_ = rest > kRounding ? all_ / rest : 1;
    return factor_;
  }

 private:
  double total_, all_;
  double part_ = std::numeric_limits<double>::quiet_NaN(), factor_ = 1;
};

/// `value` is what d is around, per row.
template <class Influence>
Shape moments_of(const GroupTable& table, double rows, double value, Influence influence) {
  std::vector<Added> all(static_cast<std::size_t>(table.groups));
  double largest = 0, most_rows = 0;
  Shape out;
  for (std::int64_t g = 0; g < table.groups; ++g) {
    if (!(table.group(g)[GroupLayout::kRows] > 0)) continue;
    out.groups += 1;
    const Added added = influence(table.group(g));
    all[static_cast<std::size_t>(g)] = added;
    largest = std::max(largest, std::abs(added.own));
    most_rows = std::max(most_rows, table.group(g)[GroupLayout::kRows]);
  }
  if (!(largest > kRounding * std::abs(value) * most_rows) || !std::isfinite(largest)) return out;
  // In units of the largest: powers of huge terms would overflow.
  double own = 0, first = 0, second = 0, third = 0, fourth = 0;
  for (const Added& added : all) {
    const double d = added.own / largest, unit = added.left_out / largest, square = unit * unit;
    own += d * d;
    first += unit;
    second += square;
    third += square * unit;
    fourth += square * square;
  }
  out.standard_error = largest * std::sqrt(own * (out.groups / (out.groups - 1))) / rows;
  out.skewness = third / (second * std::sqrt(second));
  out.concentration = fourth / second / second;
  out.leverage = std::max(1.0, std::sqrt(second / own));
  out.ratio_bias = largest * first / rows;
  return out;
}

/// Moments of x − a for j = 1 … 4 from those around the mean, which is `mean` above a.
std::array<double, 5> moments_around(const std::array<double, 5>& central, double mean) {
  const double square = mean * mean;
  return {1, mean, central[2] + square, central[3] + 3 * mean * central[2] + square * mean,
          central[4] + 4 * mean * central[3] + 6 * square * central[2] + square * square};
}

bool has_single_rows(const GroupTable& table) {
  for (std::int64_t g = 0; g < table.groups; ++g) {
    if (table.group(g)[GroupLayout::kRows] > 1) return false;
  }
  return true;
}

/// Sets what is to be expected of terms (w − from) (y − b). Groups are single rows.
void add_expected_moments(const GroupTable& table, const std::vector<double>& totals, std::size_t policy, double from,
                          double b, Shape& out) {
  const std::size_t at = table.layout.policy(policy) + GroupLayout::kWeight;
  const double rows = totals[GroupLayout::kRows], mean = totals[at] / rows;
  // In units of the largest: powers of huge numbers would overflow.
  double largest_weight = 0, largest_loss = 0;
  for (std::int64_t g = 0; g < table.groups; ++g) {
    largest_weight = std::max(largest_weight, table.group(g)[at]);
    largest_loss = std::max(largest_loss, std::abs(table.group(g)[GroupLayout::kLoss] - b));
  }
  if (!(largest_weight > 0 && largest_loss > 0) || !std::isfinite(largest_weight * largest_loss)) return;
  std::array<double, 5> weight{1}, loss{1};
  for (std::int64_t g = 0; g < table.groups; ++g) {
    const double* row = table.group(g);
    if (!(row[GroupLayout::kRows] > 0)) continue;
    const double w = row[at] / largest_weight, off = (row[at] - mean) / largest_weight;
    const double y = (row[GroupLayout::kLoss] - b) / largest_loss;
    double weight_power = off, loss_power = w;
    for (std::size_t j = 1; j < 5; ++j) {
      loss[j] += loss_power *= y;
      if (j > 1) weight[j] += weight_power *= off;
    }
  }
  for (std::size_t j = 1; j < 5; ++j) {
    weight[j] /= rows;
    loss[j] /= totals[at] / largest_weight;
  }
  const std::array<double, 5> moments = moments_around(weight, (mean - from) / largest_weight);
  const double first = moments[1] * loss[1], second = moments[2] * loss[2], third = moments[3] * loss[3],
               fourth = moments[4] * loss[4];
  const double variance = second - first * first;
  if (!(variance > kRounding * second)) return;
  out.expected_skewness =
      (third - 3 * first * second + 2 * first * first * first) / (variance * std::sqrt(variance * rows));
  out.expected_concentration =
      (fourth - 4 * first * third + 6 * first * first * second - 3 * first * first * first * first) /
      (variance * variance * rows);
}

/// The terms of an estimator of a policy's value, or of its difference to the logged actions, as seen. Weights that an
/// estimator cuts hide as much as whole ones: what is expected of it grows as that of ips does.
void add_expected_shape(const GroupTable& table, const std::vector<double>& totals, const EstimateColumn& column,
                        double value, Shape& out) {
  const Estimator& estimator = *column.estimator;
  const bool by_weights =
      estimator.transform != WeightTransform::given && !estimator.label_sums && !estimator.needs_model;
  if (!by_weights || column.baseline.kind == Baseline::Kind::policy || !out.varies() || !has_single_rows(table)) return;
  const double from = column.baseline.kind == Baseline::Kind::logged ? 1 : 0;
  if (estimator.transform == WeightTransform::none) {
    const double logged = totals[GroupLayout::kLoss] / totals[GroupLayout::kRows];
    const double b = estimator.point == mean_of_terms ? 0 : value + from * logged;
    return add_expected_moments(table, totals, column.policy, from, b, out);
  }
  const std::optional<Shape> whole = shape_of(table, totals, {column.policy, &kIpsEstimator, column.baseline});
  if (!whole || !whole->varies() || whole->skewness == 0) return;
  out.expected_skewness = whole->expected_skewness * std::abs(out.skewness / whole->skewness);
  out.expected_concentration = whole->expected_concentration * out.concentration / whole->concentration;
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

namespace {

/// What groups add to the value of a policy by an estimator.
class PolicyInfluence {
 public:
  PolicyInfluence(const GroupTable& table, const std::vector<double>& totals, const Estimator& estimator,
                  std::size_t policy, std::int64_t groups)
      : layout_(table.layout),
        estimator_(estimator),
        policy_(policy),
        own_(layout_.totals(totals.data(), policy, estimator)),
        is_ratio_(estimator.learning && estimator.learning->form == RiskForm::ratio),
        is_mean_(estimator.influence == nullptr && estimator.replicate == replicate_mean_of_terms),
        is_additive_(estimator.label_sums && !estimator.needs_model),
        terms_(layout_.policy(policy) + layout_.terms_column(policy, estimator)),
        weight_(layout_.policy(policy) + GroupLayout::kWeight),
        labels_(layout_.policy(policy) + GroupLayout::kOwn + 1),
        mean_(own_.terms / own_.rows),
        factor_(is_ratio_ ? own_.weight : own_.rows, groups) {}

  Added operator()(const double* group) {
    const double d = influence(group);
    const double factor = factor_(group[is_ratio_ ? weight_ : GroupLayout::kRows]);
    const double others = own_.rows - group[GroupLayout::kRows];
    if (!is_additive_ || !(others > 0)) return {d, d * factor};
    // The mean loss of `additive`, which its error takes as given, is another one without the group.
    const double loss = group[GroupLayout::kLoss] - group[GroupLayout::kRows] * own_.loss / own_.rows;
    const double excess = own_.additive_s - group[labels_];
    return {d, (d - loss * excess / others) * factor};
  }
  bool is_ratio() const { return is_ratio_; }

 private:
  double influence(const double* group) const {
    // influence_on_mean_of_terms, which most estimators have, without all the other totals of every group.
    if (is_mean_) return group[terms_] - group[GroupLayout::kRows] * mean_;
    return influence_of(estimator_, own_, layout_.totals(group, policy_, estimator_));
  }

  const GroupLayout& layout_;
  const Estimator& estimator_;
  std::size_t policy_;
  ReplicateTotals own_;
  bool is_ratio_, is_mean_, is_additive_;
  std::size_t terms_, weight_, labels_;
  double mean_;
  LeftOutFactor factor_;
};

/// As seen.
std::optional<Shape> seen_shape(const GroupTable& table, const std::vector<double>& totals,
                                const EstimateColumn& column) {
  const double rows = totals[GroupLayout::kRows];
  const Estimator& estimator = *column.estimator;
  if (estimator.smoothed_terms) return {};  // it is not made of the groups' sums
  const double value = table.layout.value(totals.data(), column);
  if (!std::isfinite(value)) return {};
  const std::int64_t groups = count_groups(table);
  PolicyInfluence own(table, totals, estimator, column.policy, groups);
  Shape out;
  switch (column.baseline.kind) {
    case Baseline::Kind::logged: {
      const double mean_loss = totals[GroupLayout::kLoss] / rows;
      LeftOutFactor factor(rows, groups);
      out = moments_of(table, rows, value, [&](const double* group) {
        const Added added = own(group);
        const double logged = group[GroupLayout::kLoss] - group[GroupLayout::kRows] * mean_loss;
        return Added{added.own - logged, added.left_out - logged * factor(group[GroupLayout::kRows])};
      });
      break;
    }
    case Baseline::Kind::policy: {
      PolicyInfluence base(table, totals, estimator, column.baseline.policy, groups);
      out = moments_of(table, rows, value, [&](const double* group) {
        const Added added = own(group), taken_off = base(group);
        return Added{added.own - taken_off.own, added.left_out - taken_off.left_out};
      });
      break;
    }
    case Baseline::Kind::none:
      out = moments_of(table, rows, value, own);
      break;
  }
  if (!own.is_ratio()) out.ratio_bias = 0;  // means have none: it is rounding, or the sizes of clusters
  return out;
}

}  // namespace

std::optional<Shape> shape_of(const GroupTable& table, const std::vector<double>& totals,
                              const EstimateColumn& column) {
  std::optional<Shape> out = seen_shape(table, totals, column);
  if (out) add_expected_shape(table, totals, column, table.layout.value(totals.data(), column), *out);
  return out;
}

namespace {

/// Of the mean of one of the sums.
Shape shape_of_mean(const GroupTable& table, const std::vector<double>& totals, std::size_t at) {
  const double mean = totals[at] / totals[GroupLayout::kRows];
  return moments_of(table, totals[GroupLayout::kRows], mean, [&](const double* group) {
    const double off = group[at] - group[GroupLayout::kRows] * mean;
    return Added{off, off};
  });
}

}  // namespace

Shape shape_of_losses(const GroupTable& table, const std::vector<double>& totals) {
  return shape_of_mean(table, totals, GroupLayout::kLoss);
}

Shape shape_of_label_weights(const GroupTable& table, const std::vector<double>& totals, std::size_t policy) {
  return shape_of_mean(table, totals, table.layout.policy(policy) + GroupLayout::kOwn + 1);
}

Shape shape_of_weights(const GroupTable& table, const std::vector<double>& totals, std::size_t policy) {
  return shape_of_mean(table, totals, table.layout.policy(policy) + GroupLayout::kWeight);
}

}  // namespace scrm
