/// The contexts of a few rows as they go through products with many actions: columns of doubles that stay in cache.
#pragma once

#include <cstdint>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Features that a tile of kScoreTileRows rows holds at most: as many bytes as a first-level cache has.
inline constexpr std::int64_t kTileFeatures = 64;

/// Rows [first_row, first_row + rows) of a dense context, by columns or row by row, into columns that lie `rows` apart.
/// `rows` is a multiple of 16 and `out` is aligned.
void gather_context_tile(const Block& block, int first_row, int rows, double* out) noexcept;

/// The largest b₀ + Σ_j b_{1+j} |x_ij| of a tile's rows: with every b at least as large as the |θ| beside it, no score
/// is farther from zero. Not finite where a context is not, whatever b; rounding may take an ulp for each feature from
/// it.
double largest_score_bound(const double* tile, std::int64_t features, int rows, const double* b) noexcept;

}  // namespace scrm
