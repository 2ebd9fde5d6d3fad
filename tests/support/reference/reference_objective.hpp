/// The learning objective in long double, written straight from its formulas, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "scrm/engine/learn/objective.hpp"
#include "support/reference/log_smoothing.hpp"
#include "support/rows/random_rows.hpp"

namespace scrm::testing {

struct ReferenceObjective {
  reference::Real objective, risk, variance;
};

/// R + λ √(V/n) (or λ √V) + l2 |θ|² over the rows that count.
inline ReferenceObjective reference_objective(const ObjectiveProblem& problem, const LoggedRows& rows) {
  using reference::Real;
  const ObjectiveRules& rules = problem.rules;
  reference::Reals risk_terms, variance_terms;
  Real weight_sum = 0, weighted_loss = 0;
  const bool additive = rules.estimator == &kAdditiveEstimator;
  const reference::Reals excess = additive ? label_excess(problem.policy, rows, rules.alpha)
                                           : reference::Reals(static_cast<std::size_t>(rows.rows));
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    if (problem.rows != nullptr && !(*problem.rows)[i]) continue;
    const Real y = rows.loss[static_cast<std::size_t>(i)];
    if (additive) {
      const Real term = (y - rules.mean_loss) * excess[static_cast<std::size_t>(i)];
      risk_terms.push_back(rules.mean_loss + term);
      variance_terms.push_back(term);
      continue;
    }
    const Real w =
        std::min<Real>(std::exp(log_density(problem.policy, rows, i) - log_propensity(rows, i)), rules.weight_cap);
    weight_sum += w;
    weighted_loss += w * y;
    const Real centred = y - (rules.centre_losses ? rules.mean_loss : 0);
    Real cut = w, control = 0;
    if (rules.estimator == &kLogSmoothing) {
      cut = log_smoothed(w, rules.alpha);
      control = 0.5L;
    }
    if (rules.estimator == &kLogSmoothingEstimator) {
      const Real p = std::exp(log_propensity(rows, i)),
                 smoothed = -p * std::log(1 - rules.smoothing * (y - rules.largest_loss) / p) / rules.smoothing;
      risk_terms.push_back(rules.largest_loss + w * smoothed);
      variance_terms.push_back(w * smoothed);
      continue;
    }
    if (rules.estimator == &kClippedEstimator) cut = std::min<Real>(w, rules.clip);
    if (rules.estimator == &kIpsIxEstimator) {
      cut = w / (1 + rules.alpha * w);
      control = 1;
    }
    const bool ratio = rules.estimator == &kSnipsEstimator;
    risk_terms.push_back(cut * centred + (y - centred));
    variance_terms.push_back((cut - control) * (ratio ? y : centred));
  }
  const Real n = static_cast<Real>(risk_terms.size());
  ReferenceObjective out{};
  out.risk = rules.estimator == &kSnipsEstimator ? weighted_loss / weight_sum : reference::mean(risk_terms);
  out.variance = n > 1 ? reference::sample_variance(variance_terms) : 0;
  out.objective = out.risk + rules.lambda * std::sqrt(rules.penalty == Penalty::se ? out.variance / n : out.variance);
  for (std::size_t j = 0; j < problem.policy.theta.size(); ++j) {
    const bool intercept = j % static_cast<std::size_t>(problem.policy.row_length()) == 0;
    if (!intercept) out.objective += rules.l2 * static_cast<Real>(problem.policy.theta[j]) * problem.policy.theta[j];
  }
  return out;
}

/// Central differences of the reference objective, by θ and, where it is asked for, by log scale: with long doubles,
/// good to about nine digits.
inline std::vector<double> reference_gradient(ObjectiveProblem problem, const LoggedRows& rows) {
  std::vector<double> gradient;
  for (double& theta : problem.policy.theta) {
    const double centre = theta;
    const double step = 1e-5 * std::max(1.0, std::abs(centre));
    theta = centre + step;
    const double high = theta;
    const auto above = reference_objective(problem, rows).objective;
    theta = centre - step;
    const auto below = reference_objective(problem, rows).objective;
    gradient.push_back(static_cast<double>((above - below) / (high - theta)));
    theta = centre;
  }
  if (problem.rules.scale_gradient) {
    constexpr double kStep = 1e-5;
    const double centre = problem.policy.scale;
    problem.policy.scale = centre * std::exp(kStep);
    const auto above = reference_objective(problem, rows).objective;
    problem.policy.scale = centre * std::exp(-kStep);
    const auto below = reference_objective(problem, rows).objective;
    gradient.push_back(static_cast<double>((above - below) / (2 * kStep)));
  }
  return gradient;
}

}  // namespace scrm::testing
