/// What kernels take for granted of their arguments, for assertions at their entrances (on in dev, asan and tsan
/// builds).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm {

/// Whole vectors can be read from it and written to it: it is there, and aligned.
inline bool is_column(const void* values) noexcept {
  return values != nullptr && reinterpret_cast<std::uintptr_t>(values) % kColumnAlignment == 0;
}

/// One number a row, which may begin wherever a double may: those of somebody's array do.
inline bool is_list(const double* values) noexcept {
  return values != nullptr && reinterpret_cast<std::uintptr_t>(values) % alignof(double) == 0;
}

/// `rows` rows of `bytes` each that begin `row_bytes` apart; 0 where all rows are the same one.
inline bool are_rows(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t bytes) noexcept {
  return rows >= 0 && bytes >= 0 && (from != nullptr || rows == 0 || bytes == 0) &&
         (row_bytes == 0 || rows <= 1 || row_bytes >= static_cast<std::size_t>(bytes));
}

/// A block with losses, whose rows are counted right.
inline bool is_logged_block(const Block& block) noexcept {
  return block.rows >= 0 && block.rows <= kBlockRows && block.replays >= 1 && is_list(block.loss);
}

/// A block with a context, or with none.
inline bool has_valid_context(const Block& block) noexcept {
  if (block.rows < 0 || block.rows > kBlockRows || block.features < 0) return false;
  if (block.sparse.indptr != nullptr) return block.sparse.indptr[0] == 0;
  return block.features == 0 || is_column(block.context);
}

/// One of the two ways to state propensities, not both.
inline bool has_propensity(const Block& block) noexcept {
  return (block.propensity != nullptr) != (block.log_propensity != nullptr) &&
         is_list(block.propensity != nullptr ? block.propensity : block.log_propensity);
}

/// Whole vectors of rows, and columns that begin where vectors do.
inline bool is_score_tile(const ScoreTile& tile) noexcept {
  return tile.rows % 32 == 0 && tile.first_row + tile.rows <= kBlockRows && tile.actions >= 1 &&
         tile.stride >= tile.rows && is_column(tile.scores) && is_column(tile.state);
}

/// ε of a mixture.
inline bool is_share(double epsilon) noexcept {
  return epsilon >= 0 && epsilon <= 1;
}

}  // namespace scrm
