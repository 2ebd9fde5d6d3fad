/// Tiles: row-major numbers as files hold them, transposed into the columns of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "array/element.hpp"

namespace scrm {

/// Row-major numbers of any type and alignment.
struct Tile {
  Element element = Element::f64;
  const std::byte* data = nullptr;
  std::size_t row_bytes = 0;  ///< from one row to the next
  int rows = 0;
  std::int64_t columns = 0;
};

/// The values that are accepted, both ends included; NaN never is.
struct Range {
  double low;
  double high;
};

/// Converts column j of the tile to out + j * kBlockRows. Returns whether every value lies in the range, without
/// looking for the one that does not. Whole numbers go to integer columns only from integer tiles.
bool to_columns(const Tile& tile, Range range, double* out) noexcept;
bool to_columns(const Tile& tile, Range range, float* out) noexcept;
bool to_columns(const Tile& tile, Range range, std::int32_t* out) noexcept;
bool to_columns(const Tile& tile, Range range, std::uint8_t* out) noexcept;

/// Calls visitor(row, column, value) for every value in row order: the slow look for what is wrong.
template <class Visitor>
void for_each_value(const Tile& tile, Visitor&& visitor) {
  visit_element(tile.element, [&](auto zero) {
    for (int row = 0; row < tile.rows; ++row) {
      const std::byte* from = tile.data + static_cast<std::size_t>(row) * tile.row_bytes;
      for (std::int64_t column = 0; column < tile.columns; ++column, from += sizeof(zero)) {
        auto value = zero;
        std::memcpy(&value, from, sizeof(value));
        visitor(row, column, static_cast<double>(value));
      }
    }
  });
}

/// Puts the byte planes of HDF5's shuffle filter together again: `count` numbers of `size` bytes and what is left over
/// at the end of `bytes`.
void unshuffle(const std::byte* from, std::byte* to, std::size_t bytes, std::size_t size) noexcept;

}  // namespace scrm
