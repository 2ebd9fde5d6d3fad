#include "scrm/kernels/scores/transpose.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/transpose.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows are transposed in bands that stay in the first-level cache while their columns are taken from them, two or four
// at a time: the columns of a block lie a power of two apart and push each other out of it when more are written.
constexpr std::size_t kBandBytes = std::size_t{16} << 10;

// How far ahead of what is read bytes are fetched. Numbers in somebody's arrays come from memory, where the hardware's
// own prefetching begins anew with every page; past the last of them lie those of the next block.
constexpr std::size_t kRowsAhead = std::size_t{6} << 10;
constexpr std::size_t kColumnAhead = std::size_t{2} << 10;

HWY_INLINE void fetch(const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  for (std::size_t k = 0; k < bytes; k += kCacheLine) __builtin_prefetch(from + k);
}

template <class T>
HWY_INLINE T load_one(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// Rows [0, rows) of columns [first, columns), number by number.
template <class T>
bool transpose_numbers(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t first, std::int64_t columns,
                       T low, T high, T* out) {
  bool inside = true;
  for (std::int64_t j = first; j < columns; ++j) {
    const std::byte* at = from + static_cast<std::size_t>(j) * sizeof(T);
    T* column = out + j * kBlockRows;
    for (int i = 0; i < rows; ++i, at += row_bytes) {
      column[i] = load_one<T>(at);
      inside &= (column[i] >= low) & (column[i] <= high);
    }
  }
  return inside;
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
bool transpose_band(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, T low, T high,
                    T* out) {
  return transpose_numbers(from, row_bytes, rows, std::int64_t{0}, columns, low, high, out);
}
#else

/// Sixteen bytes of row `row`, and, in vectors of thirty-two, of the row that lies `apart` rows further on.
template <class D>
HWY_INLINE hn::Vec<D> load_rows(D d, const std::byte* from, std::size_t row_bytes, int row, int apart) {
  using T = hn::TFromD<D>;
#if HWY_MAX_BYTES >= 32
  const hn::Half<D> half;
  const auto* low = reinterpret_cast<const T*>(from + static_cast<std::size_t>(row) * row_bytes);
  const auto* high = reinterpret_cast<const T*>(from + static_cast<std::size_t>(row + apart) * row_bytes);
  return hn::Combine(d, hn::LoadU(half, high), hn::LoadU(half, low));
#else
  (void)apart;
  return hn::LoadU(d, reinterpret_cast<const T*>(from + static_cast<std::size_t>(row) * row_bytes));
#endif
}

#if HWY_MAX_BYTES >= 32
constexpr int kLanes16 = 2;  // of sixteen bytes in a vector
#else
constexpr int kLanes16 = 1;
#endif

template <class T>
using Rows = hn::FixedTag<T, kLanes16 * 16 / sizeof(T)>;

/// Two columns of 2 * kLanes16 doubles each.
template <class V, class M>
HWY_INLINE void transpose_step(Rows<double> d, const std::byte* from, std::size_t row_bytes, V low, V high, M& inside,
                               double* out) {
  const auto even = load_rows(d, from, row_bytes, 0, 2);
  const auto odd = load_rows(d, from, row_bytes, 1, 2);
  inside = hn::And(
      inside, hn::And(hn::And(hn::Ge(even, low), hn::Le(even, high)), hn::And(hn::Ge(odd, low), hn::Le(odd, high))));
  hn::StoreU(hn::InterleaveLower(d, even, odd), d, out);
  hn::StoreU(hn::InterleaveUpper(d, even, odd), d, out + kBlockRows);
}

/// Four columns of 4 * kLanes16 floats each.
template <class V, class M>
HWY_INLINE void transpose_step(Rows<float> d, const std::byte* from, std::size_t row_bytes, V low, V high, M& inside,
                               float* out) {
  const hn::Repartition<double, Rows<float> > pairs;
  V rows[4];
  for (int i = 0; i < 4; ++i) {
    rows[i] = load_rows(d, from, row_bytes, i, 4);
    inside = hn::And(inside, hn::And(hn::Ge(rows[i], low), hn::Le(rows[i], high)));
  }
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + kBlockRows);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * kBlockRows);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * kBlockRows);
}

/// One column whose numbers follow each other; returns how many it has done, whole vectors of them.
template <class T>
int copy_column(const std::byte* from, int rows, T low, T high, T* out, bool& all_inside) {
  const hn::ScalableTag<T> d;
  // Loads run ahead of stores, which may lie at the same place of another page.
  constexpr int kVectors = 4;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto lowest = hn::Set(d, low);
  const auto highest = hn::Set(d, high);
  auto inside = hn::Eq(lowest, lowest);
  int i = 0;
  for (; i + kVectors * lanes <= rows; i += kVectors * lanes) {
    hn::Vec<decltype(d)> x[kVectors];
    fetch(from + static_cast<std::size_t>(i) * sizeof(T) + kColumnAhead,
          static_cast<std::size_t>(kVectors * lanes) * sizeof(T));
    for (int v = 0; v < kVectors; ++v) {
      x[v] = hn::LoadU(d, reinterpret_cast<const T*>(from + static_cast<std::size_t>(i + v * lanes) * sizeof(T)));
      inside = hn::And(inside, hn::And(hn::Ge(x[v], lowest), hn::Le(x[v], highest)));
    }
    for (int v = 0; v < kVectors; ++v) hn::StoreU(x[v], d, out + i + v * lanes);
  }
  all_inside &= hn::AllTrue(d, inside);
  return i;
}

template <class T>
bool transpose_band(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, T low, T high,
                    T* out) {
  const Rows<T> d;
  constexpr int kColumns = 16 / sizeof(T);
  constexpr int kRows = kColumns * kLanes16;
  const auto lowest = hn::Set(d, low);
  const auto highest = hn::Set(d, high);
  auto inside = hn::Eq(lowest, lowest);
  bool numbers_inside = true;
  const int whole_rows = rows / kRows * kRows;
  if (columns == 1 && row_bytes == sizeof(T)) {
    const int done = copy_column(from, rows, low, high, out, numbers_inside);
    return transpose_numbers(from + static_cast<std::size_t>(done) * sizeof(T), row_bytes, rows - done, std::int64_t{0},
                             columns, low, high, out + done) &&
           numbers_inside;
  }
  const std::int64_t whole_columns = columns / kColumns * kColumns;
  for (std::int64_t j = 0; j < whole_columns; j += kColumns) {
    const std::byte* at = from + static_cast<std::size_t>(j) * sizeof(T);
    T* to = out + j * kBlockRows;
    for (int i = 0; i < whole_rows; i += kRows, at += static_cast<std::size_t>(kRows) * row_bytes) {
      transpose_step(d, at, row_bytes, lowest, highest, inside, to + i);
    }
  }
  numbers_inside &= transpose_numbers(from, row_bytes, whole_rows, whole_columns, columns, low, high, out);
  numbers_inside &= transpose_numbers(from + static_cast<std::size_t>(whole_rows) * row_bytes, row_bytes,
                                      rows - whole_rows, std::int64_t{0}, columns, low, high, out + whole_rows);
  return hn::AllTrue(d, inside) && numbers_inside;
}

#endif

template <class T>
bool transpose_bands(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, T low, T high,
                     T* out) {
  // A cache line of every column at least.
  constexpr int kLine = static_cast<int>(kColumnAlignment / sizeof(T));
  const int band = std::max(kLine, static_cast<int>(kBandBytes / std::max<std::size_t>(1, row_bytes)) / kLine * kLine);
  bool inside = true;
  for (int row = 0; row < rows; row += band) {
    inside &= transpose_band(from + static_cast<std::size_t>(row) * row_bytes, row_bytes, std::min(band, rows - row),
                             columns, low, high, out + row);
  }
  return inside;
}

// kSymmetric: low is -high, as where all that counts is that numbers are finite; one comparison is then enough.
template <bool kSymmetric, class T>
bool numbers_in_range(const std::byte* from, std::size_t count, T low, T high) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kVectors = 4;
  const std::size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, low);
  const auto highest = hn::Set(d, high);
  hn::Mask<decltype(d)> inside[kVectors];
  for (auto& mask : inside) mask = hn::Eq(lowest, lowest);
  std::size_t i = 0;
  for (; i + kVectors * lanes <= count; i += kVectors * lanes) {
    fetch(from + i * sizeof(T) + kRowsAhead, kVectors * lanes * sizeof(T));
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadU(d, reinterpret_cast<const T*>(from + (i + v * lanes) * sizeof(T)));
      if constexpr (kSymmetric) {
        inside[v] = hn::And(inside[v], hn::Le(hn::Abs(x), highest));
      } else {
        inside[v] = hn::And(inside[v], hn::And(hn::Ge(x, lowest), hn::Le(x, highest)));
      }
    }
  }
  bool all = true;
  for (const auto& mask : inside) all &= hn::AllTrue(d, mask);
  for (; i < count; ++i) {
    const T x = load_one<T>(from + i * sizeof(T));
    all &= (x >= low) & (x <= high);
  }
  return all;
}

template <class T>
bool any_numbers_in_range(const std::byte* from, std::size_t count, T low, T high) {
  return low == -high ? numbers_in_range<true>(from, count, low, high)
                      : numbers_in_range<false>(from, count, low, high);
}

bool in_range_f64(const std::byte* from, std::size_t count, double low, double high) {
  return any_numbers_in_range(from, count, low, high);
}

bool in_range_f32(const std::byte* from, std::size_t count, float low, float high) {
  return any_numbers_in_range(from, count, low, high);
}

bool transpose_f64(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, double low,
                   double high, double* out) {
  return transpose_bands(from, row_bytes, rows, columns, low, high, out);
}

bool transpose_f32(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, float low, float high,
                   float* out) {
  return transpose_bands(from, row_bytes, rows, columns, low, high, out);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(transpose_f64);
HWY_EXPORT(transpose_f32);
HWY_EXPORT(in_range_f64);
HWY_EXPORT(in_range_f32);

bool all_in_range(const std::byte* from, std::size_t count, double low, double high) noexcept {
  assert((from != nullptr || count == 0) && low <= high);
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(in_range_f64)(from, count, low, high);
}

bool all_in_range(const std::byte* from, std::size_t count, float low, float high) noexcept {
  assert((from != nullptr || count == 0) && low <= high);
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(in_range_f32)(from, count, low, high);
}

bool transpose_rows(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, double low,
                    double high, double* out) noexcept {
  assert(are_rows(from, row_bytes, rows, columns * static_cast<std::int64_t>(sizeof(double))) && out != nullptr);
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(transpose_f64)(from, row_bytes, rows, columns, low, high, out);
}

bool transpose_rows(const std::byte* from, std::size_t row_bytes, int rows, std::int64_t columns, float low, float high,
                    float* out) noexcept {
  assert(are_rows(from, row_bytes, rows, columns * static_cast<std::int64_t>(sizeof(float))) && out != nullptr);
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(transpose_f32)(from, row_bytes, rows, columns, low, high, out);
}

}  // namespace scrm
#endif
