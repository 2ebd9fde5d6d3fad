#include <algorithm>
#include <cmath>

#include "estimator.hpp"

namespace scrm {
namespace {

std::string obstacle(const Schema& schema, const TargetPolicy& policy) {
  if (schema.action_kind != ActionKind::multilabel) return "it is for multilabel actions";
  if (!schema.label_propensity) return "the data has no dataset label_propensity";
  if (!policy.has_label_probability()) return "the policy gives no probabilities of single labels";
  return {};
}

// Terms t = u − ȳ S with u = y + y S: their moments follow from those of the pair (u, S) for any ȳ.
PointEstimate additive(const PolicyTotals& totals) {
  const PairMoments& pair = totals.additive;
  const double mean_loss = totals.loss.true_mean();
  PointEstimate out;
  out.value = pair.mean_a - mean_loss * pair.mean_b;
  const double square_sum = pair.aa - 2 * mean_loss * pair.ab + mean_loss * mean_loss * pair.bb;
  out.standard_error = std::sqrt(std::max(0.0, square_sum) / (pair.count - 1) / pair.count);
  out.range = (pair.highest_a - pair.lowest_a) + std::abs(mean_loss) * (pair.highest_b - pair.lowest_b);
  out.parameter = totals.alpha;
  return out;
}

double replicate(const ReplicateTotals& totals) {
  return (totals.additive_u - totals.loss / totals.rows * totals.additive_s) / totals.rows;
}

}  // namespace

/// Label by label: ȳ + mean((y − ȳ) Σ_k (w_k − 1)).
const Estimator kAdditiveEstimator = {"additive", obstacle, additive, replicate};

}  // namespace scrm
