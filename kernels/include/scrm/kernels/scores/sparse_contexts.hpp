/// Products of sparse contexts with several outputs at once: scores, and the gradients that come back from them.
#pragma once

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/scores/scores.hpp"

namespace scrm {

/// Linear scores of several outputs on a sparse block; rows past the block's end get none. weights is row-major
/// [1 + features, all_outputs], intercepts first, so that one entry touches one contiguous run.
void sparse_scores(const Block& block, const double* weights, int all_outputs, const ScoreRange& range) noexcept;

/// out[j columns + c] += Σ_i coefficients[c kBlockRows + i] x_ij over a sparse block: one row for each feature.
void add_sparse_context_products(const Block& block, const double* coefficients, int columns, double* out) noexcept;

}  // namespace scrm
