/// Tile: row-major numbers as files hold them.
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

}  // namespace scrm
