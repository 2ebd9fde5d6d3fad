/// Row-major numbers of a file, transposed into the columns of a block.
#pragma once

#include <cstdint>

#include "array/tile.hpp"
#include "audit/audit_rule.hpp"

namespace scrm {

/// Converts column j of the tile to out + j * kBlockRows. Returns whether every value lies in the range, without
/// looking for the one that does not. Whole numbers go to integer columns only from integer tiles.
bool to_columns(const Tile& tile, Range range, double* out) noexcept;
bool to_columns(const Tile& tile, Range range, float* out) noexcept;
bool to_columns(const Tile& tile, Range range, std::int32_t* out) noexcept;
bool to_columns(const Tile& tile, Range range, std::int64_t* out) noexcept;
bool to_columns(const Tile& tile, Range range, std::uint8_t* out) noexcept;

}  // namespace scrm
