#include "shard/rows/transpose.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "scrm/kernels/scores/transpose.hpp"

namespace scrm {
namespace {

constexpr int kCacheLine = 64;

// Rows that are converted at once: their share of a column is one cache line, so that each line of the output is
// written whole. The columns of a block lie a power of two apart and would push each other out of L1 otherwise.
template <class T>
constexpr int kTileRows = kCacheLine / static_cast<int>(sizeof(T));

template <class T>
T load(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// The bound in the tile's own type, never accepting more than the double does.
template <class T>
T bound(double limit, bool low) noexcept {
  if constexpr (std::is_same_v<T, double>) {
    return limit;
  } else if constexpr (std::is_same_v<T, float>) {
    constexpr float kMax = std::numeric_limits<float>::max();
    if (limit <= -static_cast<double>(kMax)) return -kMax;
    if (limit >= static_cast<double>(kMax)) return kMax;
    const float near = static_cast<float>(limit);
    if (low && static_cast<double>(near) < limit) return std::nextafter(near, kMax);
    if (!low && static_cast<double>(near) > limit) return std::nextafter(near, -kMax);
    return near;
  } else {
    using Limits = std::numeric_limits<T>;
    if (limit <= static_cast<double>(Limits::min())) return Limits::min();
    if (limit >= static_cast<double>(Limits::max())) return Limits::max();
    return static_cast<T>(low ? std::ceil(limit) : std::floor(limit));
  }
}

template <class T>
struct Bounds {
  T low;
  T high;
  explicit Bounds(Range range) noexcept : low(bound<T>(range.low, true)), high(bound<T>(range.high, false)) {}
  bool outside(T value) const noexcept { return !((value >= low) & (value <= high)); }
};

template <class From, class To>
bool strided_to_columns(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns,
                        Bounds<From> bounds, To* out) noexcept {
  bool outside = false;
  for (std::int64_t j = 0; j < columns; ++j) {
    const std::byte* at = from + static_cast<std::size_t>(j) * sizeof(From);
    To* column = out + j * kBlockRows;
    for (int i = 0; i < rows; ++i, at += row_bytes) {
      const From value = load<From>(at);
      outside |= bounds.outside(value);
      column[i] = static_cast<To>(value);
    }
  }
  return !outside;
}

template <class From, class To>
bool packed_to_column(const std::byte* from, int rows, Bounds<From> bounds, To* out) noexcept {
  // A flag as wide as the number keeps comparison and flag in lanes of one size.
  using Flag = std::conditional_t<sizeof(From) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(From) == 4, std::uint32_t, std::uint8_t>>;
  Flag outside = 0;
  for (int i = 0; i < rows; ++i) {
    const From value = load<From>(from + static_cast<std::size_t>(i) * sizeof(From));
    outside |= static_cast<Flag>(bounds.outside(value));
    out[i] = static_cast<To>(value);
  }
  return outside == 0;
}

template <class From, class To>
bool convert(const Tile& tile, Range range, To* out) noexcept {
  const Bounds<From> bounds(range);
  if constexpr (std::is_same_v<From, To> && std::is_floating_point_v<From>) {
    return transpose_rows(tile.data, tile.row_bytes, tile.rows, tile.columns, bounds.low, bounds.high, out);
  } else if (tile.columns == 1 && tile.row_bytes == sizeof(From)) {
    return packed_to_column<From>(tile.data, tile.rows, bounds, out);
  } else {
    bool inside = true;
    for (int row = 0; row < tile.rows; row += kTileRows<To>) {
      inside &= strided_to_columns<From>(tile.data + static_cast<std::size_t>(row) * tile.row_bytes, tile.row_bytes,
                                         std::min(kTileRows<To>, tile.rows - row), tile.columns, bounds, out + row);
    }
    return inside;
  }
}

template <class To>
bool convert_any(const Tile& tile, Range range, To* out) noexcept {
  return visit_element(tile.element, [&](auto zero) {
    using From = decltype(zero);
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      return false;
    } else {
      return convert<From>(tile, range, out);
    }
  });
}

}  // namespace

bool to_columns(const Tile& tile, Range range, double* out) noexcept {
  return convert_any(tile, range, out);
}

bool to_columns(const Tile& tile, Range range, float* out) noexcept {
  return convert_any(tile, range, out);
}

bool to_columns(const Tile& tile, Range range, std::int32_t* out) noexcept {
  return convert_any(tile, range, out);
}

bool to_columns(const Tile& tile, Range range, std::int64_t* out) noexcept {
  return convert_any(tile, range, out);
}

bool to_columns(const Tile& tile, Range range, std::uint8_t* out) noexcept {
  return convert_any(tile, range, out);
}

}  // namespace scrm
