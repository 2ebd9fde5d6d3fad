#include "scrm/kernels/vector/poisson.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vector/poisson.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#ifndef SCRM_POISSON_THRESHOLDS
#define SCRM_POISSON_THRESHOLDS
namespace scrm {

/// values[k] = P(X ≤ k) · 2^32 − 1 for X ~ Poisson(1): the count is how many of them lie below a 32-bit uniform. Beyond
/// twelve the probability is less than 32 bits can tell.
struct PoissonThresholds {
  static constexpr int kSize = 12;
  std::uint32_t values[kSize];

  constexpr PoissonThresholds() : values{} {
    double term = 0.36787944117144232160, cumulative = 0;
    for (int k = 0; k < kSize; ++k) {
      cumulative += term;
      values[k] = static_cast<std::uint32_t>(cumulative * 4294967296.0) - 1;
      term /= k + 1;
    }
  }
};
inline constexpr PoissonThresholds kPoissonThresholds;

/// Units whose counts are made at a time.
inline constexpr int kPoissonTile = 1024;
/// Keeps these draws apart from every other use of the same seed.
inline constexpr std::uint32_t kBootstrapStream = 0xB0075;

}  // namespace scrm
#endif

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::ScalableTag<std::uint32_t>;
using V32 = hn::Vec<U32>;

// High halves of 32 × 32 bit products, lane by lane; b is the same in every lane.
HWY_INLINE V32 multiply_high(U32 d, V32 a, V32 b) {
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = static_cast<std::uint64_t>(hn::GetLane(a)) * hn::GetLane(b);
  return hn::Set(d, static_cast<std::uint32_t>(product >> 32));
#else
  // Even and odd lanes are multiplied apart.
  const hn::RepartitionToWide<U32> d64;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, a))), b);
  return hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
#endif
}

HWY_INLINE V32 counts_of(U32 d, V32 uniform) {
  // A comparison gives all ones, which is −1: subtracting it counts.
  const auto below = [d, uniform](int k) HWY_ATTR {
    return hn::VecFromMask(d, hn::Gt(uniform, hn::Set(d, kPoissonThresholds.values[k])));
  };
  V32 count = hn::Zero(d);
  for (int k = 0; k < 4; ++k) count = hn::Sub(count, below(k));
  // One draw in 53 is above three: most vectors end here.
  if (HWY_LIKELY(hn::AllFalse(d, hn::Gt(uniform, hn::Set(d, kPoissonThresholds.values[3]))))) return count;
  for (int k = 4; k < PoissonThresholds::kSize; ++k) count = hn::Sub(count, below(k));
  return count;
}

// Counts of 4 · Lanes units whose Philox counters start at `counter`.
HWY_INLINE void counts_vector(U32 d, std::uint64_t seed, std::uint32_t replicate, std::uint64_t counter,
                              std::uint32_t* out) {
  const V32 low = hn::Add(hn::Set(d, static_cast<std::uint32_t>(counter)), hn::Iota(d, 0u));
  // The low word may pass 2^32 inside a vector: those lanes carry into the high word.
  const V32 start = hn::Set(d, static_cast<std::uint32_t>(counter));
  const V32 carry = hn::VecFromMask(d, hn::Lt(low, start));
  V32 c0 = low;
  V32 c1 = hn::Sub(hn::Set(d, static_cast<std::uint32_t>(counter >> 32)), carry);
  V32 c2 = hn::Set(d, replicate);
  V32 c3 = hn::Set(d, kBootstrapStream);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  const V32 m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    const V32 high0 = multiply_high(d, c0, m0), low0 = hn::Mul(c0, m0);
    const V32 high1 = multiply_high(d, c2, m1), low1 = hn::Mul(c2, m1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  hn::StoreInterleaved4(counts_of(d, c0), counts_of(d, c1), counts_of(d, c2), counts_of(d, c3), d, out);
}

void poisson_counts_impl(std::uint64_t seed, std::uint32_t replicate, std::uint64_t first, int n, double* out) {
  const U32 d;
  const int step = 4 * static_cast<int>(hn::Lanes(d));
  HWY_ALIGN std::uint32_t counts[kPoissonTile];
  static_assert(kPoissonTile * sizeof(std::uint32_t) % (4 * HWY_MAX_BYTES) == 0);
  for (int done = 0; done < n; done += kPoissonTile) {
    const int wanted = std::min(kPoissonTile, n - done);
    for (int i = 0; i < wanted; i += step) {
      counts_vector(d, seed, replicate, (first + static_cast<std::uint64_t>(done + i)) / 4, counts + i);
    }
    for (int i = 0; i < wanted; ++i) out[done + i] = static_cast<double>(counts[i]);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(poisson_counts_impl);

void poisson_counts(std::uint64_t seed, std::uint32_t replicate, std::uint64_t first, int n, double* out) noexcept {
  assert(first % 4 == 0 && n >= 0 && out != nullptr);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(poisson_counts_impl)(seed, replicate, first, n, out);
}

}  // namespace scrm
#endif
