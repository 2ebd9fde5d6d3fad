#include <cmath>

#include "estimate/estimator.hpp"
#include "scrm/engine/evaluate.hpp"

namespace scrm {

const std::vector<const Estimator*>& all_estimators() {
  static const std::vector<const Estimator*> all = {&kIpsEstimator, &kClippedEstimator, &kSnipsEstimator,
                                                    &kIpsIxEstimator, &kAdditiveEstimator};
  return all;
}

std::vector<std::string> estimator_names() {
  std::vector<std::string> names;
  for (const Estimator* estimator : all_estimators()) names.emplace_back(estimator->name);
  return names;
}

PointEstimate mean_estimate(const Moments& terms) {
  PointEstimate out;
  out.value = terms.true_mean();
  out.standard_error = terms.standard_deviation() / std::sqrt(terms.count);
  out.range = terms.range();
  return out;
}

std::string always_applicable(const Schema&, const TargetPolicy&) {
  return {};
}

}  // namespace scrm
