/// The contexts of a few rows as they go through products with many actions: columns of doubles that stay in cache.
#pragma once

#include <cstdint>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Features that a tile of kScoreTileRows rows holds at most: 128 KiB, a part of a second-level cache. Columns of a
/// block lie whole pages apart, where a few dozen of them take each other's places in any cache.
inline constexpr std::int64_t kTileFeatures = 256;

/// Rows [first_row, first_row + rows) of a dense context, by columns or row by row, into columns that lie `rows` apart.
/// `rows` is a multiple of 16 and `out` is aligned.
void gather_context_tile(const Block& block, int first_row, int rows, double* out) noexcept;

/// The largest b₀ + Σ_j b_{1+j} |x_ij| of a tile's rows: with every b at least as large as the |θ| beside it, no score
/// is farther from zero. Not finite where a context is not, whatever b; rounding may take an ulp for each feature from
/// it.
double largest_score_bound(const double* tile, std::int64_t features, int rows, const double* b) noexcept;

}  // namespace scrm
