/// Means of linear policies on rows of contexts that lie one after the other, as files hold them: included once per
/// instruction set.
#if defined(SCRM_ROW_MEANS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SCRM_ROW_MEANS_INL_HPP
#undef SCRM_ROW_MEANS_INL_HPP
#else
#define SCRM_ROW_MEANS_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>

#include "weights/gaussian_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// Rows that are longer are fetched by the hardware alone: a tile of them is no small part of the cache.
constexpr std::size_t kLongestFetched = 256;

// Half of the next tile's rows are fetched while means are computed, the other half during the exponentials, so that
// the memory has work throughout; past the block lie the rows of the next one.
HWY_INLINE void fetch_share(const std::byte* half, std::size_t bytes, int share, int shares) {
  const std::size_t begin = bytes * static_cast<std::size_t>(share) / static_cast<std::size_t>(shares);
  const std::size_t end = bytes * static_cast<std::size_t>(share + 1) / static_cast<std::size_t>(shares);
  for (std::size_t k = begin / kColumnAlignment; k < end / kColumnAlignment; ++k)
    __builtin_prefetch(half + k * kColumnAlignment);
}

#if HWY_MAX_BYTES >= 32

// Four rows at a time, whatever the width of the machine's vectors: sixteen bytes of each make two columns.
using Rows4 = hn::FixedTag<double, 4>;
using Pair = hn::FixedTag<double, 2>;

HWY_INLINE hn::Vec<Pair> load_pair(const double* from) {
  return hn::LoadU(Pair(), from);
}

HWY_INLINE hn::Vec<Pair> load_pair(const float* from) {
  return hn::PromoteTo(Pair(), hn::LoadU(hn::FixedTag<float, 2>(), from));
}

template <class T>
HWY_INLINE double load_number(const T* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Columns j and j + 1 of four rows.
template <class T>
HWY_INLINE void load_two_columns(const T* const* rows, std::int64_t j, hn::Vec<Rows4>& left, hn::Vec<Rows4>& right) {
  const Rows4 d;
  const auto even = hn::Combine(d, load_pair(rows[2] + j), load_pair(rows[0] + j));
  const auto odd = hn::Combine(d, load_pair(rows[3] + j), load_pair(rows[1] + j));
  left = hn::InterleaveLower(d, even, odd);
  right = hn::InterleaveUpper(d, even, odd);
}

// kTileRows rows, kVectors times four at a time. Every row adds its features in the order of block_scores.
template <int kPolicies, class T>
HWY_NOINLINE void row_means(const std::byte* context, std::int64_t features, const LinearGaussian* policies,
                            double* mean) {
  constexpr int kVectors = kPolicies == 1 ? 4 : 2;
  const Rows4 d;
  const auto* first = reinterpret_cast<const T*>(context);
  const std::size_t tile_bytes = static_cast<std::size_t>(kTileRows * features) * sizeof(T);
  const bool fetches_next = tile_bytes <= kTileRows * kLongestFetched;
  for (int i = 0; i < kTileRows; i += 4 * kVectors) {
    if (fetches_next) fetch_share(context + tile_bytes, tile_bytes / 2, i / (4 * kVectors), kTileRows / (4 * kVectors));
    const T* rows[kVectors][4];
    for (int v = 0; v < kVectors; ++v) {
      for (int r = 0; r < 4; ++r) rows[v][r] = first + (i + 4 * v + r) * features;
    }
    hn::Vec<Rows4> sums[kPolicies][kVectors];
    for (int p = 0; p < kPolicies; ++p) {
      for (auto& sum : sums[p]) sum = hn::Set(d, policies[p].theta[0]);
    }
    std::int64_t j = 0;
    for (; j + 2 <= features; j += 2) {
      hn::Vec<Rows4> left[kVectors], right[kVectors];
      for (int v = 0; v < kVectors; ++v) load_two_columns(rows[v], j, left[v], right[v]);
      for (int p = 0; p < kPolicies; ++p) {
        const auto a = hn::Set(d, policies[p].theta[1 + j]), b = hn::Set(d, policies[p].theta[2 + j]);
        for (int v = 0; v < kVectors; ++v) {
          sums[p][v] = hn::MulAdd(b, right[v], hn::MulAdd(a, left[v], sums[p][v]));
        }
      }
    }
    if (j < features) {
      for (int v = 0; v < kVectors; ++v) {
        alignas(32) double last[4];
        for (int r = 0; r < 4; ++r) last[r] = load_number(rows[v][r] + j);
        for (int p = 0; p < kPolicies; ++p) {
          sums[p][v] = hn::MulAdd(hn::Set(d, policies[p].theta[1 + j]), hn::Load(d, last), sums[p][v]);
        }
      }
    }
    for (int p = 0; p < kPolicies; ++p) {
      for (int v = 0; v < kVectors; ++v) hn::Store(sums[p][v], d, mean + p * kTileRows + i + 4 * v);
    }
  }
}

#else

// Number by number, with the multiplication and addition of this instruction set's vectors.
template <int kPolicies, class T>
HWY_NOINLINE void row_means(const std::byte* context, std::int64_t features, const LinearGaussian* policies,
                            double* mean) {
  const hn::CappedTag<double, 1> d;
  for (int i = 0; i < kTileRows; ++i) {
    const std::byte* row = context + static_cast<std::size_t>(i * features) * sizeof(T);
    for (int p = 0; p < kPolicies; ++p) {
      auto sum = hn::Set(d, policies[p].theta[0]);
      for (std::int64_t j = 0; j < features; ++j) {
        T x;
        std::memcpy(&x, row + static_cast<std::size_t>(j) * sizeof(T), sizeof(x));
        sum = hn::MulAdd(hn::Set(d, policies[p].theta[1 + j]), hn::Set(d, static_cast<double>(x)), sum);
      }
      mean[p * kTileRows + i] = hn::GetLane(sum);
    }
  }
}

#endif

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
