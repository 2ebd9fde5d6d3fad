#include "learn/model/model_terms.hpp"

#include <algorithm>
#include <cstdint>

#include "policy/kinds/policy_kinds.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/kernels/weights/weights.hpp"

namespace scrm {
namespace {

using Column = double[kBlockRows];

/// c of every row, and c's derivative by each score in the place of the scores: see Correction.
struct Corrections {
  alignas(kColumnAlignment) Column value;
  alignas(kColumnAlignment) Column weight;  ///< w; of Correction::weights alone
};

/// t(w) and ∂t/∂ log w. Weights at the largest one are held there.
void transform(const ObjectiveRules& rules, int rows, Corrections& out, Column& slope) {
  for (int i = 0; i < rows; ++i) out.weight[i] = std::min(out.weight[i], rules.weight_cap);
  if (const auto& tuned = rules.estimator->tuned) {
    tuned->weights({out.weight, static_cast<std::size_t>(rows)}, rules.shrinkage, out.value);
    tuned->slopes({out.weight, static_cast<std::size_t>(rows)}, rules.shrinkage, slope);
  } else {
    std::copy_n(out.weight, rows, out.value);
    std::copy_n(out.weight, rows, slope);
  }
  for (int i = 0; i < rows; ++i) slope[i] = out.weight[i] < rules.weight_cap ? slope[i] : 0;
}

void correct_by_weights(const Block& block, const ObjectiveProblem& problem, double* scores, Corrections& out) {
  const Policy& policy = problem.policy;
  policy_kind(policy.kind).score_gradient(policy, block, scores, out.weight);
  weights_from_log_density(block, out.weight, out.weight);
  alignas(kColumnAlignment) Column slope;
  transform(problem.rules, block.rows, out, slope);
  for (int k = 0; k < policy.outputs; ++k) {
    // No weight, no slope, whatever the logarithm's derivative is.
    for (int i = 0; i < block.rows; ++i) scores[cell(k, i)] = slope[i] != 0 ? scores[cell(k, i)] * slope[i] : 0;
  }
}

/// 1 + Σ_k (w_k − 1), w_k = π_k / (p_k + α π_k), whose derivative by log π_k is w_k (1 − α w_k).
void correct_by_labels(const Block& block, const ObjectiveProblem& problem, double* scores, double* probability,
                       Corrections& out) {
  const Policy& policy = problem.policy;
  policy_kind(policy.kind).label_gradient(policy, block, scores, probability);
  std::fill_n(out.value, block.rows, 1.0);
  for (int k = 0; k < policy.outputs; ++k) {
    for (int i = 0; i < block.rows; ++i) {
      const std::size_t at = cell(k, i);
      const double w = probability[at] / (block.label_propensity[at] + problem.rules.alpha * probability[at]);
      out.value[i] += w - 1;
      scores[at] *= w * (1 - problem.rules.alpha * w);
    }
  }
}

/// Moments of the rows that count, and `terms` less their mean, 0 for the others.
Moments centre(const std::uint8_t* keep, int rows, double* terms) {
  double count = 0, mean = 0;
  for (int i = 0; i < rows; ++i) count += keep[i];
  for (int i = 0; i < rows; ++i) mean += keep[i] != 0 ? terms[i] / count : 0;
  Moments out;
  out.count = count;
  out.mean = mean;
  for (int i = 0; i < rows; ++i) {
    terms[i] = keep[i] != 0 ? terms[i] - mean : 0;
    out.square_sum += terms[i] * terms[i];
  }
  return out;
}

}  // namespace

LearningTerms model_terms(const Block& block, const std::uint8_t* keep, const ObjectiveProblem& problem,
                          const LearningModel::OfBlock& model, double* slopes) {
  const Policy& policy = problem.policy;
  const std::size_t set = cell(policy.outputs, 0);
  double *second = slopes + set, *third = slopes + 2 * set;
  std::uint8_t all[kBlockRows];
  if (keep == nullptr) std::fill_n(all, kBlockRows, std::uint8_t{1});
  const std::uint8_t* kept = keep != nullptr ? keep : all;

  const Correction correction = problem.rules.estimator->learning->correction;
  Corrections c;
  if (correction != Correction::none) std::copy_n(slopes, set, second);
  if (correction == Correction::weights) correct_by_weights(block, problem, second, c);
  if (correction == Correction::labels) correct_by_labels(block, problem, second, third, c);

  alignas(kColumnAlignment) Column terms, spread, residual;
  policy_kind(policy.kind).expectation_gradient(policy, block, model.coefficients, slopes, terms);
  for (int i = 0; i < block.rows; ++i) {
    residual[i] = correction == Correction::none ? 0 : block.loss[i] - model.logged[i];
    // Rows that do not count may hold anything.
    if (correction != Correction::none && kept[i] != 0) terms[i] += c.value[i] * residual[i];
    spread[i] = terms[i] - (correction == Correction::none ? model.logged[i] : block.loss[i]);
  }
  LearningTerms out;
  out.variance = centre(kept, block.rows, spread);
  out.risk = centre(kept, block.rows, terms);
  if (correction == Correction::weights) out.weight = centre(kept, block.rows, c.weight);
  for (int k = 0; k < policy.outputs; ++k) {
    for (int i = 0; i < block.rows; ++i) {
      const std::size_t at = cell(k, i);
      const double correcting = correction == Correction::none ? 0 : residual[i] * second[at];
      slopes[at] = kept[i] != 0 ? slopes[at] + correcting : 0;
      second[at] = spread[i] * slopes[at];
    }
    std::fill(slopes + cell(k, block.rows), slopes + cell(k, kBlockRows), 0.0);
    std::fill(second + cell(k, block.rows), second + cell(k, kBlockRows), 0.0);
  }
  return out;
}

}  // namespace scrm
