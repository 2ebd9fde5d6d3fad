/// From the sums of an objective's terms to its value, and the factors that turn sums of slopes into its gradient.
#pragma once

#include <vector>

#include "scrm/engine/learn/objective.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"

namespace scrm {

inline RiskForm risk_form(const ObjectiveProblem& problem) {
  return problem.rules.estimator->learning->form;
}

/// Whether each row has one weight.
inline bool has_weights(const ObjectiveProblem& problem) {
  const LearningRule& rule = *problem.rules.estimator->learning;
  return rule.form != RiskForm::labels && (rule.form != RiskForm::model || rule.correction == Correction::weights);
}

/// How the kernels transform weights under these rules; the columns of WeightTransform::given are left to
/// weighted_terms.
TermOptions term_options(const ObjectiveRules& rules);

/// learning_terms under these rules, whatever the estimator's transform.
LearningTerms weighted_terms(const Block& block, const std::uint8_t* keep, const ObjectiveRules& rules, double* weights,
                             double* term_gradients, double* centred_terms);

/// With f the row's slope of the risk (for a ratio: w (y − ȳ)), w its weight and z its variance term, the gradient is
///   Σ (risk · f − shift · risk · w + variance · (z − z̄) ∂z) ∂ log π.
struct GradientFactors {
  double risk = 0;
  double shift = 0;  ///< of a ratio alone
  double variance = 0;
};

GradientFactors gradient_factors(const ObjectiveRules& rules, const LearningTerms& terms);

/// The value at θ, its gradient by the rows' sums already in place; adds what the ridge contributes to both. An empty
/// gradient becomes one of zeros.
ObjectiveValue objective_value(const ObjectiveProblem& problem, const LearningTerms& terms,
                               std::vector<double> gradient);

}  // namespace scrm
