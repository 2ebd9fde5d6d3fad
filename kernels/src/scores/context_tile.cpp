#include "scrm/kernels/scores/context_tile.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/context_tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scores/row_means-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// Columns [first_column, features) of rows that lie one after the other, number by number.
template <class T>
HWY_INLINE void gather_numbers(const std::byte* from, std::int64_t first_column, std::int64_t features, int rows,
                               double* out) {
  for (std::int64_t j = first_column; j < features; ++j) {
    for (int i = 0; i < rows; ++i) {
      T x;
      std::memcpy(&x, from + static_cast<std::size_t>(i * features + j) * sizeof(T), sizeof(x));
      out[j * rows + i] = x;
    }
  }
}

template <class T>
HWY_INLINE void gather_rows(const std::byte* from, std::int64_t features, int rows, double* out) {
  std::int64_t done = 0;
#if HWY_MAX_BYTES >= 32
  done = features / 2 * 2;
  const Rows4 d;
  const auto* numbers = reinterpret_cast<const T*>(from);
  for (int i = 0; i < rows; i += 4) {
    const T* const four[] = {numbers + i * features, numbers + (i + 1) * features, numbers + (i + 2) * features,
                             numbers + (i + 3) * features};
    for (std::int64_t j = 0; j < done; j += 2) {
      hn::Vec<Rows4> left, right;
      load_two_columns(four, j, left, right);
      hn::Store(left, d, out + j * rows + i);
      hn::Store(right, d, out + (j + 1) * rows + i);
    }
  }
#endif
  gather_numbers<T>(from, done, features, rows, out);
}

void gather_rows_impl(const std::byte* from, FloatType type, std::int64_t features, int rows, double* out) {
  type == FloatType::f32 ? gather_rows<float>(from, features, rows, out)
                         : gather_rows<double>(from, features, rows, out);
}

double largest_bound_impl(const double* tile, std::int64_t features, int rows, const double* b) {
  // Eight sums at once, where rows (a multiple of 32) have so many vectors: none waits for the one before.
  constexpr int kVectors = HWY_MAX_BYTES <= 32 ? 8 : 4;
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V64 largest = hn::Zero(d);
  for (int i = 0; i < rows; i += kVectors * lanes) {
    V64 bound[kVectors];
    for (V64& one : bound) one = hn::Set(d, b[0]);
    for (std::int64_t j = 0; j < features; ++j) {
      const V64 most = hn::Set(d, b[1 + j]);
      for (int v = 0; v < kVectors; ++v) {
        bound[v] = hn::MulAdd(most, hn::Abs(hn::Load(d, tile + j * rows + i + v * lanes)), bound[v]);
      }
    }
    // Of a NaN and a number the larger is not the same on all machines: NaN becomes infinite before.
    const V64 infinite = hn::Set(d, HUGE_VAL);
    for (const V64& one : bound) largest = hn::Max(largest, hn::IfThenElse(hn::IsNaN(one), infinite, one));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "scrm/kernels/scores/scores.hpp"
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(gather_rows_impl);
HWY_EXPORT(largest_bound_impl);

void gather_context_tile(const Block& block, int first_row, int rows, double* out) noexcept {
  assert(rows % 16 == 0 && first_row + rows <= kBlockRows && is_column(out) && block.sparse.indptr == nullptr);
  if (block.context_by_row == nullptr) return mapped_context(block, 0, block.features, out, first_row, rows);
  ensure_isa();
  const std::size_t number = block.context_type == FloatType::f32 ? sizeof(float) : sizeof(double);
  const std::size_t row_bytes = static_cast<std::size_t>(block.features) * number;
  HWY_DYNAMIC_DISPATCH(gather_rows_impl)
  (block.context_by_row + static_cast<std::size_t>(first_row) * row_bytes, block.context_type, block.features, rows,
   out);
}

double largest_score_bound(const double* tile, std::int64_t features, int rows, const double* b) noexcept {
  assert(rows % 32 == 0 && b != nullptr && (features == 0 || is_column(tile)));
  ensure_isa();
  return HWY_DYNAMIC_DISPATCH(largest_bound_impl)(tile, features, rows, b);
}

}  // namespace scrm
#endif
