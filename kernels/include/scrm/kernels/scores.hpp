/// Linear and quadratic scores θ₀ + θ·φ(x) of every row of a block.
#pragma once

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// out[i] = theta[0] + theta[1..]·φ(x_i) for all kBlockRows rows of a dense block (rows past block.rows get values that
/// mean nothing), for the block's valid rows of a sparse one. theta has 1 + mapped_features(map, block.features)
/// numbers.
void block_scores(const Block& block, FeatureMap map, const double* theta, double* out) noexcept;

/// Scores of several outputs on a sparse block: out column k is outputs[k]'s scores. weights is row-major
/// [1 + features, outputs], intercepts first, so that one entry touches one contiguous run.
void sparse_scores(const Block& block, const double* weights, int outputs, double* out) noexcept;

/// Columns [first, first + count) of the dense context with its products x_j x_k behind it (the quadratic φ(x)), as
/// doubles, column-major with stride kBlockRows.
void mapped_context(const Block& block, std::int64_t first, std::int64_t count, double* out) noexcept;

}  // namespace scrm
