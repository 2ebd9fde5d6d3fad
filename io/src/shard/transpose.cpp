#include "shard/transpose.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "scrm/kernels/block.hpp"

namespace scrm {
namespace {

constexpr int kCacheLine = 64;

// Rows that are transposed at once: their share of a column is one cache line, so that each line of the output is
// written whole. The columns of a block lie a power of two apart and would push each other out of L1 otherwise.
template <class T>
constexpr int kTileRows = kCacheLine / static_cast<int>(sizeof(T));

// Wide tables are transposed in bands of so many bytes, one line's worth of columns after the other, while the next
// band is on its way into the cache: taken row by row, hundreds of columns would each get one line at a time.
constexpr std::size_t kBandBytes = std::size_t{64} << 10;

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

/// Rows [0, rows) of columns [first, columns), any shape.
template <class From, class To>
bool strided_to_columns(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t first,
                        std::int64_t columns, Bounds<From> bounds, To* out) noexcept {
  bool outside = false;
  for (std::int64_t j = first; j < columns; ++j) {
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

// Vectors of sixteen bytes: what every machine of ours has without asking.
using Double2 = double __attribute__((vector_size(16)));
using Mask2 = std::int64_t __attribute__((vector_size(16)));
using Float4 = float __attribute__((vector_size(16)));
using Mask4 = std::int32_t __attribute__((vector_size(16)));

template <class From, class To>
bool packed_to_column(const std::byte* from, int rows, Bounds<From> bounds, To* out) noexcept {
  bool inside = true;
  int i = 0;
  if constexpr (std::is_same_v<From, double> &&
                std::is_same_v<To, double>) {  // which compilers do not see by themselves
    const Double2 low = {bounds.low, bounds.low};
    const Double2 high = {bounds.high, bounds.high};
    Mask2 both = {-1, -1};
    constexpr int kPairs = 4;  // loads run ahead of stores, which may lie at the same place of another page
    for (; i + 2 * kPairs <= rows; i += 2 * kPairs) {
      Double2 pairs[kPairs];
      std::memcpy(pairs, from + static_cast<std::size_t>(i) * sizeof(double), sizeof(pairs));
      for (const Double2& pair : pairs) both &= (pair >= low) & (pair <= high);
      std::memcpy(out + i, pairs, sizeof(pairs));
    }
    inside = (both[0] & both[1]) == -1;
  }
  // A flag as wide as the number keeps comparison and flag in lanes of one size.
  using Flag = std::conditional_t<sizeof(From) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(From) == 4, std::uint32_t, std::uint8_t>>;
  Flag outside = 0;
  for (; i < rows; ++i) {
    const From value = load<From>(from + static_cast<std::size_t>(i) * sizeof(From));
    outside |= static_cast<Flag>(bounds.outside(value));
    out[i] = static_cast<To>(value);
  }
  return inside && outside == 0;
}

/// Transposes kTileRows rows; columns are taken two at a time and `columns` is even.
bool transpose_rows(const std::byte* from, std::size_t row_bytes, std::int64_t columns, Bounds<double> bounds,
                    double* out) noexcept {
  const Double2 low = {bounds.low, bounds.low};
  const Double2 high = {bounds.high, bounds.high};
  Mask2 inside = {-1, -1};
  for (std::int64_t j = 0; j < columns; j += 2) {
    const std::byte* at = from + static_cast<std::size_t>(j) * sizeof(double);
    double* column = out + j * kBlockRows;
    for (int i = 0; i < kTileRows<double>; i += 2, at += 2 * row_bytes) {
      const auto a = load<Double2>(at);
      const auto b = load<Double2>(at + row_bytes);
      inside &= (a >= low) & (a <= high) & (b >= low) & (b <= high);
      const Double2 left = __builtin_shufflevector(a, b, 0, 2);
      const Double2 right = __builtin_shufflevector(a, b, 1, 3);
      std::memcpy(column + i, &left, sizeof(left));
      std::memcpy(column + kBlockRows + i, &right, sizeof(right));
    }
  }
  return (inside[0] & inside[1]) == -1;
}

/// The same for floats, four columns at a time.
bool transpose_rows(const std::byte* from, std::size_t row_bytes, std::int64_t columns, Bounds<float> bounds,
                    float* out) noexcept {
  const Float4 low = {bounds.low, bounds.low, bounds.low, bounds.low};
  const Float4 high = {bounds.high, bounds.high, bounds.high, bounds.high};
  Mask4 inside = {-1, -1, -1, -1};
  for (std::int64_t j = 0; j < columns; j += 4) {
    const std::byte* at = from + static_cast<std::size_t>(j) * sizeof(float);
    float* column = out + j * kBlockRows;
    for (int i = 0; i < kTileRows<float>; i += 4, at += 4 * row_bytes) {
      const auto a = load<Float4>(at);
      const auto b = load<Float4>(at + row_bytes);
      const auto c = load<Float4>(at + 2 * row_bytes);
      const auto d = load<Float4>(at + 3 * row_bytes);
      inside &= (a >= low) & (a <= high) & (b >= low) & (b <= high);
      inside &= (c >= low) & (c <= high) & (d >= low) & (d <= high);
      const Float4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
      const Float4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Float4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
      const Float4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Float4 transposed[4] = {
          __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
      for (int k = 0; k < 4; ++k) std::memcpy(column + k * kBlockRows + i, &transposed[k], sizeof(transposed[k]));
    }
  }
  return (inside[0] & inside[1] & inside[2] & inside[3]) == -1;
}

/// Rows [0, rows) of `columns` columns, tile by tile.
template <class From, class To>
bool transpose_tiles(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, Bounds<From> bounds,
                     To* out) noexcept {
  bool inside = true;
  int row = 0;
  for (; row + kTileRows<To> <= rows; row += kTileRows<To>) {
    const std::byte* at = from + static_cast<std::size_t>(row) * row_bytes;
    std::int64_t transposed = 0;
    if constexpr (std::is_same_v<From, To> && std::is_floating_point_v<From>) {
      constexpr std::int64_t kLanes = 16 / sizeof(From);
      transposed = columns / kLanes * kLanes;
      inside &= transpose_rows(at, row_bytes, transposed, bounds, out + row);
    }
    inside &= strided_to_columns<From>(at, row_bytes, kTileRows<To>, transposed, columns, bounds, out + row);
  }
  const std::byte* rest = from + static_cast<std::size_t>(row) * row_bytes;
  return strided_to_columns<From>(rest, row_bytes, rows - row, 0, columns, bounds, out + row) && inside;
}

/// A wide table, in bands.
template <class From, class To>
bool transpose_bands(const Tile& tile, Bounds<From> bounds, To* out) noexcept {
  constexpr std::int64_t kGroup = kCacheLine / sizeof(From);
  const int fitting = static_cast<int>(kBandBytes / tile.row_bytes) / kTileRows<To> * kTileRows<To>;
  const int band_rows = std::max(kTileRows<To>, fitting);
  const std::byte* end = tile.data + static_cast<std::size_t>(tile.rows) * tile.row_bytes;
  bool inside = true;
  for (int row = 0; row < tile.rows; row += band_rows) {
    const int rows = std::min(band_rows, tile.rows - row);
    const std::byte* band = tile.data + static_cast<std::size_t>(row) * tile.row_bytes;
    const std::byte* ahead = band + static_cast<std::size_t>(rows) * tile.row_bytes;
    for (std::int64_t j = 0; j < tile.columns; j += kGroup) {
      for (int line = 0; line < rows && ahead < end; ++line, ahead += kCacheLine) __builtin_prefetch(ahead);
      inside &= transpose_tiles<From>(band + static_cast<std::size_t>(j) * sizeof(From), tile.row_bytes, rows,
                                      std::min(kGroup, tile.columns - j), bounds, out + j * kBlockRows + row);
    }
  }
  return inside;
}

template <class From, class To>
bool convert(const Tile& tile, Range range, To* out) noexcept {
  const Bounds<From> bounds(range);
  if (tile.columns == 1 && tile.row_bytes == sizeof(From)) {
    return packed_to_column<From>(tile.data, tile.rows, bounds, out);
  }
  if (tile.row_bytes >= 2 * kCacheLine) return transpose_bands<From>(tile, bounds, out);
  return transpose_tiles<From>(tile.data, tile.row_bytes, tile.rows, tile.columns, bounds, out);
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

bool to_columns(const Tile& tile, Range range, std::uint8_t* out) noexcept {
  return convert_any(tile, range, out);
}

}  // namespace scrm
