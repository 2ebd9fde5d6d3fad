#include "learn/objective_value.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scrm {
namespace {

double variance_of(const LearningTerms& terms) {
  return terms.risk.count > 1 ? terms.variance.square_sum / (terms.risk.count - 1) : 0;
}

/// √(V̂/n) or √V̂.
double root_of(const ObjectiveRules& rules, const LearningTerms& terms) {
  const double variance = variance_of(terms);
  return std::sqrt(rules.penalty == Penalty::se ? variance / terms.risk.count : variance);
}

/// What is taken off every loss.
double baseline_of(const ObjectiveRules& rules) {
  return rules.centre_losses && rules.estimator->learning->form == RiskForm::average ? rules.mean_loss : 0;
}

double risk_of(const ObjectiveRules& rules, const LearningTerms& terms) {
  switch (rules.estimator->learning->form) {
    case RiskForm::ratio:
      return terms.weight.mean > 0 ? terms.risk.mean / terms.weight.mean : rules.mean_loss;
    case RiskForm::labels:
      return terms.risk.mean + rules.mean_loss;
    case RiskForm::smoothed:
      return terms.risk.mean + rules.largest_loss;
    case RiskForm::average:
    case RiskForm::model:
      break;
  }
  return terms.risk.mean + baseline_of(rules);
}

/// Σ θ² without the intercepts, and its gradient.
double add_ridge(const Policy& policy, double l2, std::vector<double>& gradient) {
  double sum = 0;
  const auto length = static_cast<std::size_t>(policy.row_length());
  for (std::size_t j = 0; j < policy.theta.size(); ++j) {
    if (j % length == 0) continue;
    sum += policy.theta[j] * policy.theta[j];
    gradient[j] += 2 * l2 * policy.theta[j];
  }
  return l2 * sum;
}

}  // namespace

TermOptions term_options(const ObjectiveRules& rules) {
  TermOptions out;
  out.transform = rules.estimator->transform;
  out.parameter = parameter_value(*rules.estimator, rules.alpha, rules.clip);
  out.control_variate = rules.estimator->learning->control_variate;
  out.weight_cap = rules.weight_cap;
  out.baseline = baseline_of(rules);
  return out;
}

LearningTerms weighted_terms(const Block& block, const std::uint8_t* keep, const ObjectiveRules& rules, double* weights,
                             double* term_gradients, double* centred_terms) {
  TermOptions options = term_options(rules);
  if (options.transform != WeightTransform::given) {
    return learning_terms(block, keep, options, weights, term_gradients, centred_terms);
  }
  alignas(kColumnAlignment) double values[kBlockRows], slopes[kBlockRows];
  for (int i = 0; i < block.rows; ++i) weights[i] = std::min(weights[i], options.weight_cap);
  rules.estimator->weight_function({weights, static_cast<std::size_t>(block.rows)}, options.parameter, values, slopes);
  options.transformed = values;
  options.transform_slopes = slopes;
  return learning_terms(block, keep, options, weights, term_gradients, centred_terms);
}

GradientFactors gradient_factors(const ObjectiveRules& rules, const LearningTerms& terms) {
  GradientFactors out;
  const double n = terms.risk.count;
  if (n == 0) return out;
  out.risk = 1 / n;
  if (rules.estimator->learning->form == RiskForm::ratio) {
    out.risk = terms.weight.mean > 0 ? 1 / (n * terms.weight.mean) : 0;
    out.shift = risk_of(rules, terms) - rules.mean_loss;
  }
  // ∂√(c V) = c ∂V / (2 √(c V)) with ∂V = 2 Σ (z − z̄) ∂z / (n − 1); flat where the variance is zero.
  const double root = root_of(rules, terms);
  const double unit = rules.penalty == Penalty::se ? 1 / n : 1;
  out.variance = root > 0 && n > 1 ? rules.lambda * unit / (root * (n - 1)) : 0;
  return out;
}

ObjectiveValue objective_value(const ObjectiveProblem& problem, const LearningTerms& terms,
                               std::vector<double> gradient) {
  const ObjectiveRules& rules = problem.rules;
  ObjectiveValue out;
  out.rows = terms.risk.count;
  out.gradient = std::move(gradient);
  out.gradient.resize(problem.policy.theta.size() + (rules.scale_gradient ? 1 : 0));
  if (out.rows == 0) return out;
  out.risk = risk_of(rules, terms);
  if (has_weights(problem)) {
    out.ess = effective_sample_size(terms.weight);
    out.mean_weight = terms.weight.mean;
  }
  out.variance = variance_of(terms);
  out.penalty = rules.lambda * root_of(rules, terms);
  if (rules.l2 > 0) out.ridge = add_ridge(problem.policy, rules.l2, out.gradient);
  out.objective = out.risk + out.penalty + out.ridge;
  return out;
}

}  // namespace scrm
