#include "learn/objective_value.hpp"

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

double risk_of(const ObjectiveRules& rules, const LearningTerms& terms) {
  switch (rules.estimator) {
    case LearningEstimator::snips:
      return terms.weight.mean > 0 ? terms.risk.mean / terms.weight.mean : rules.mean_loss;
    case LearningEstimator::additive:
      return terms.risk.mean + rules.mean_loss;
    default:
      return terms.risk.mean;
  }
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
  out.max_weight = rules.largest_weight;
  if (rules.estimator == LearningEstimator::clipped) {
    out.transform = WeightTransform::clip;
    out.parameter = rules.clip;
  } else if (rules.estimator == LearningEstimator::ips_ix) {
    out.transform = WeightTransform::ix;
    out.parameter = rules.alpha;
    out.control_variate = 1;
  }
  return out;
}

GradientFactors gradient_factors(const ObjectiveRules& rules, const LearningTerms& terms) {
  GradientFactors out;
  const double n = terms.risk.count;
  if (n == 0) return out;
  out.risk = 1 / n;
  if (rules.estimator == LearningEstimator::snips) {
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
  out.gradient.resize(problem.policy.theta.size());
  if (out.rows == 0) return out;
  const double n = out.rows;
  out.risk = risk_of(rules, terms);
  if (rules.estimator != LearningEstimator::additive) {
    const double square = terms.weight.mean * terms.weight.mean;
    out.ess = square > 0 ? n * (square / (square + terms.weight.square_sum / n)) : 0;
  }
  out.variance = variance_of(terms);
  out.penalty = rules.lambda * root_of(rules, terms);
  if (rules.l2 > 0) out.ridge = add_ridge(problem.policy, rules.l2, out.gradient);
  out.objective = out.risk + out.penalty + out.ridge;
  return out;
}

}  // namespace scrm
