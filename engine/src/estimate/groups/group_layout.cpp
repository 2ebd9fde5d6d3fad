#include "estimate/groups/group_layout.hpp"

#include <algorithm>

namespace scrm {

void ExtraTerms::add(const Estimator& estimator) {
  labels = labels || estimator.label_sums;
  smoothed = smoothed || estimator.smoothed_terms;
  model = model || estimator.needs_model;
  if (estimator.tuned && tuned_index(estimator) == tuned.size()) tuned.push_back(&estimator);
  if (estimator.transform == WeightTransform::given && index(estimator) == given.size()) given.push_back(&estimator);
}

std::size_t ExtraTerms::index(const Estimator& estimator) const {
  return static_cast<std::size_t>(std::find(given.begin(), given.end(), &estimator) - given.begin());
}

std::size_t ExtraTerms::tuned_index(const Estimator& estimator) const {
  return static_cast<std::size_t>(std::find(tuned.begin(), tuned.end(), &estimator) - tuned.begin());
}

GroupLayout::GroupLayout(std::size_t policies, const ExtraTerms& extra)
    : policies_(policies),
      extra_(extra),
      policy_width_(extra.model ? tuned(extra.tuned.size(), 0) : model()),
      chosen_(policies * extra.tuned.size(), extra.scales.empty() ? 0 : extra.scales.size() - 1) {}

std::size_t GroupLayout::terms_column(std::size_t p, const Estimator& estimator) const {
  if (estimator.tuned) {
    const std::size_t t = extra_.tuned_index(estimator);
    return tuned(t, chosen_scale(p, t));
  }
  switch (estimator.transform) {
    case WeightTransform::clip:
      return kClipped;
    case WeightTransform::ix:
      return kIx;
    case WeightTransform::given:
      return given(extra_.index(estimator));
    case WeightTransform::none:
      break;
  }
  return kWeightedLoss;
}

ReplicateTotals GroupLayout::totals(const double* sums, std::size_t p, const Estimator& estimator) const {
  const double* own = sums + policy(p);
  return {.rows = sums[kRows],
          .loss = sums[kLoss],
          .weight = own[kWeight],
          .weighted_loss = own[kWeightedLoss],
          .terms = own[terms_column(p, estimator)],
          .additive_u = extra_.labels ? own[kOwn] : 0,
          .additive_s = extra_.labels ? own[kOwn + 1] : 0,
          .prediction = extra_.model ? own[model()] : 0,
          .residual = extra_.model ? own[model() + 1] : 0,
          .additive_terms = extra_.model ? own[model() + 2] : 0};
}

double GroupLayout::value(const double* sums, const EstimateColumn& column) const {
  const double own = column.estimator->replicate(totals(sums, column.policy, *column.estimator));
  switch (column.baseline.kind) {
    case Baseline::Kind::logged:
      return own - sums[kLoss] / sums[kRows];
    case Baseline::Kind::policy:
      return own - column.estimator->replicate(totals(sums, column.baseline.policy, *column.estimator));
    case Baseline::Kind::none:
      break;
  }
  return own;
}

std::vector<double> GroupTable::totals() const {
  std::vector<double> totals(layout.width());
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::size_t c = 0; c < totals.size(); ++c) totals[c] += group(g)[c];
  }
  return totals;
}

}  // namespace scrm
