/// Policies with many actions a few rows at a time: log-probabilities and gradients without the scores of a whole
/// block.
#pragma once

#include <span>

#include "policy/score_matrix.hpp"

namespace scrm {

/// Whether the policy's kind takes tiles of scores and the block can give them.
bool has_tiles(const Policy& policy, const Block& block);

/// log π(a|x) of the block's rows, from scores of a few rows and actions at a time, which never leave the first-level
/// cache. Contexts that lie row by row must have tiles (ScoreMatrix::has_context_tiles); where one is not finite, its
/// row becomes NaN.
void tiled_log_density(const ScoreMatrix& matrix, const Block& block, double* out);

/// Whether tiled_gradient applies to the policy on this block, and is better than columns of all derivatives.
bool has_tiled_gradient(const Policy& policy, const Block& block);
/// The same for all blocks of a schema.
bool has_tiled_gradient(const Policy& policy, const Schema& schema);

/// For each column f of `factors`, Σ_i f_i ∂ log π(a_i|x_i) / ∂θ: factors.size() times as many numbers as theta has.
/// Rows whose factors are all 0 do not count, whatever their derivatives. Holds scores of all actions for a few rows.
void tiled_gradient(const ScoreMatrix& matrix, const Block& block, std::span<const double* const> factors,
                    PolicyScratch& scratch, double* out);

}  // namespace scrm
