/// Weights of linear gaussian policies on a few rows at a time: included once per instruction set by the kernels that
/// loop over blocks with them.
#if defined(SCRM_GAUSSIAN_TILES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SCRM_GAUSSIAN_TILES_INL_HPP
#undef SCRM_GAUSSIAN_TILES_INL_HPP
#else
#define SCRM_GAUSSIAN_TILES_INL_HPP
#endif

#include <hwy/highway.h>

#include <limits>

#include "scrm/kernels/weights/gaussian_weights.hpp"
#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// Rows whose means are held at a time: few enough for the first-level cache, many enough that the long latency from a
// mean to its weight is paid seldom. A call for each tile costs nothing beside that, so what loops over one is compiled
// once, not again wherever it is used.
constexpr int kTileRows = 128;
// Beyond this many features the arithmetic is long enough for the hardware's own prefetching.
constexpr std::int64_t kPrefetchFeatures = 32;

HWY_INLINE void prefetch(const void* address) {
  __builtin_prefetch(address, 0, 2);
}

// Means of kPolicies policies on a few vectors of rows at a time: eight vectors for one policy, since chains of
// additions for each feature would otherwise wait for themselves, and two for several, which makes six loads for eight
// multiplications. Every row adds its features in the order of block_scores.
template <int kPolicies, class T>
HWY_NOINLINE void tile_means(const T* context, std::int64_t features, const LinearGaussian* policies, double* mean) {
  constexpr int kVectors = kPolicies == 1 ? 8 : 2;
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < kTileRows; i += kVectors * lanes) {
    V64 sums[kPolicies][kVectors];
    for (int p = 0; p < kPolicies; ++p) {
      for (V64& sum : sums[p]) sum = hn::Set(d, policies[p].theta[0]);
    }
    for (std::int64_t j = 0; j < features; ++j) {
      V64 x[kVectors];
      for (int v = 0; v < kVectors; ++v) x[v] = load_column(d, context + j * kBlockRows + i + v * lanes);
      for (int p = 0; p < kPolicies; ++p) {
        const V64 weight = hn::Set(d, policies[p].theta[1 + j]);
        for (int v = 0; v < kVectors; ++v) sums[p][v] = hn::MulAdd(weight, x[v], sums[p][v]);
      }
    }
    for (int p = 0; p < kPolicies; ++p) {
      for (int v = 0; v < kVectors; ++v) hn::Store(sums[p][v], d, mean + p * kTileRows + i + v * lanes);
    }
  }
}

// Columns of a tile of rows, and what a policy's density needs besides its mean.
struct Tile {
  const double* action;
  const double* propensity;
  const double* mean;
  double inverse_scale, log_norm;
};

// Whether a propensity is none: not above zero, or not finite.
HWY_INLINE hn::Mask<F64> is_no_propensity(F64 d, V64 p) {
  return hn::Not(hn::And(hn::Gt(p, hn::Zero(d)), hn::Le(p, hn::Set(d, std::numeric_limits<double>::max()))));
}

HWY_INLINE V64 log_density(F64 d, const Tile& tile, int i) {
  return log_normal_density(d, hn::LoadU(d, tile.action + i), hn::Load(d, tile.mean + i),
                            hn::Set(d, tile.inverse_scale), hn::Set(d, tile.log_norm));
}

// First half of the exponentials; false when one of them is too extreme for the fast one, or a row is bad.
template <bool kLogPropensity, bool kAudit>
HWY_INLINE bool reduce_tile(const Tile& tile, double* r, double* n_bits) {
  const F64 d;
  const V64 limit = hn::Set(d, kVectorExpLimit);
  auto usual = hn::Eq(limit, limit);
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 x = log_density(d, tile, i);
    if constexpr (kLogPropensity) x = hn::Sub(x, hn::LoadU(d, tile.propensity + i));
    // Which neither NaN is nor what comes of actions and means that are not finite.
    usual = hn::And(usual, hn::Le(hn::Abs(x), limit));
    if constexpr (kAudit && !kLogPropensity)
      usual = hn::AndNot(is_no_propensity(d, hn::LoadU(d, tile.propensity + i)), usual);
    const ReducedExp reduced = reduce_exp(d, x);
    hn::Store(reduced.r, d, r + i);
    hn::Store(reduced.n_bits, d, n_bits + i);
  }
  return hn::AllTrue(d, usual);
}

// Rows of which the columns come from memory while a tile is in the arithmetic units: without this the memory would
// wait through every exponential. No action: nothing is fetched.
template <class T>
struct NextRows {
  const T* context;
  const double* action;
  const double* propensity;
  const double* loss;
  std::int64_t features;

  HWY_INLINE void fetch(int i) const {
    if (action == nullptr) return;
    if (i % static_cast<int>(kColumnAlignment / sizeof(T)) == 0) {
      for (std::int64_t j = 0; j < features; ++j) prefetch(context + j * kBlockRows + i);
    }
    if (i % static_cast<int>(kColumnAlignment / sizeof(double)) == 0) {
      prefetch(action + i);
      prefetch(propensity + i);
      prefetch(loss + i);
    }
  }
};

// Second half.
template <bool kLogPropensity, class Next>
HWY_INLINE void finish_tile(const Tile& tile, const double* r, const double* n_bits, const Next& next, double* out) {
  const F64 d;
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    next.fetch(i);
    V64 w = finish_exp(d, {hn::Load(d, r + i), hn::Load(d, n_bits + i)});
    if constexpr (!kLogPropensity) w = hn::Div(w, hn::LoadU(d, tile.propensity + i));
    hn::Store(w, d, out + i);
  }
}

// The rows whose mean, action or propensity nobody can use.
template <bool kLogPropensity>
HWY_INLINE hn::Mask<F64> bad_rows(F64 d, const Tile& tile, int i) {
  const V64 p = hn::LoadU(d, tile.propensity + i);
  const auto no_propensity = kLogPropensity ? hn::Not(hn::IsFinite(p)) : is_no_propensity(d, p);
  return hn::Or(no_propensity, hn::Not(hn::And(hn::IsFinite(hn::Load(d, tile.mean + i)),
                                               hn::IsFinite(hn::LoadU(d, tile.action + i)))));
}

// The weights of a tile that has extreme ones or bad rows.
template <bool kLogPropensity, bool kAudit>
HWY_NOINLINE void extreme_tile_weights(const Tile& tile, double* out) {
  const F64 d;
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 w = weight<kLogPropensity>(d, log_density(d, tile, i), tile.propensity + i);
    if constexpr (kAudit) w = hn::IfThenElse(bad_rows<kLogPropensity>(d, tile, i), hn::NaN(d), w);
    hn::Store(w, d, out + i);
  }
}

// The weights of one tile. Two loops, since from mean to weight is a chain of twenty operations, of which the processor
// could not keep enough in flight to fill its units. kAudit: bad rows get NaN, which no others get.
template <bool kLogPropensity, bool kAudit, class Next>
HWY_NOINLINE void tile_weights(const Tile& tile, const Next& next, double* out) {
  alignas(kColumnAlignment) double r[kTileRows], n_bits[kTileRows];
  if (HWY_LIKELY((reduce_tile<kLogPropensity, kAudit>(tile, r, n_bits)))) {
    finish_tile<kLogPropensity>(tile, r, n_bits, next, out);
  } else {
    extreme_tile_weights<kLogPropensity, kAudit>(tile, out);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
