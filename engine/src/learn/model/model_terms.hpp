/// The terms q_π + c (y − q) of a learning objective over one block, and the coefficients of their gradients.
#pragma once

#include "learn/model/learning_model.hpp"
#include "scrm/engine/learn/objective.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"

namespace scrm {

/// Columns of policy.outputs numbers a row that model_terms works in.
inline constexpr int kModelTermSets = 3;

/// `slopes`, kModelTermSets sets of columns, begins with the policy's scores. They become the coefficients of the
/// gradients of risk and variance, a set each, as those of additive_terms are; the third is scratch. `keep` is null, or
/// 1 for rows that count. Rows that do not count, and those past the block's, have coefficients of 0.
LearningTerms model_terms(const Block& block, const std::uint8_t* keep, const ObjectiveProblem& problem,
                          const LearningModel::OfBlock& model, double* slopes);

}  // namespace scrm
