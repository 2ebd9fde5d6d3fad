/// Linear and quadratic scores θ₀ + θ·φ(x) of every row of a block.
#pragma once

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// out[i] = theta[0] + theta[1..]·φ(x_i) for all kBlockRows rows of a dense block (rows past block.rows get values that
/// mean nothing), for the block's valid rows of a sparse one. theta has 1 + mapped_features(map, block.features)
/// numbers.
void block_scores(const Block& block, FeatureMap map, const double* theta, double* out) noexcept;

/// Rows [first_row, first_row + rows) and outputs [first_output, first_output + outputs), whose scores go to columns
/// `stride` apart, the first row to the first place.
struct ScoreRange {
  int first_row = 0;
  int rows = 0;
  int first_output = 0;
  int outputs = 0;
  double* out = nullptr;
  std::int64_t stride = kBlockRows;
};

/// Scores of theta's rows on a sparse block, 1 + mapped_features(map, block.features) long each, one after the other;
/// rows past the block's end get none. For linear scores of many outputs see sparse_contexts.hpp.
void sparse_scores(const Block& block, FeatureMap map, const double* theta, const ScoreRange& range) noexcept;

/// Columns [first, first + count) of the dense context with its products x_j x_k behind it (the quadratic φ(x)), as
/// doubles, column-major: rows [first_row, first_row + rows), `rows` apart.
void mapped_context(const Block& block, std::int64_t first, std::int64_t count, double* out, int first_row = 0,
                    int rows = kBlockRows) noexcept;

}  // namespace scrm
