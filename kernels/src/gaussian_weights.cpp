#include "scrm/kernels/gaussian_weights.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gaussian_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// Rows whose means are held at a time: few enough for the first-level cache, many enough that the long latency from a
// mean to its weight is paid seldom.
constexpr int kTileRows = 128;
// Policies that share each load of the context.
constexpr int kGroup = 4;
// Beyond this many features the arithmetic is long enough for the hardware's own prefetching.
constexpr std::int64_t kPrefetchFeatures = 32;

HWY_INLINE void prefetch(const void* address) {
  __builtin_prefetch(address, 0, 2);
}

// Means of kPolicies policies on two vectors of rows at a time, which makes six loads for eight multiplications. Every
// row adds its features in the order of block_scores.
template <int kPolicies, class T>
HWY_INLINE void tile_means(const T* context, std::int64_t features, const LinearGaussian* policies, double* mean) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < kTileRows; i += 2 * lanes) {
    V64 a[kPolicies], b[kPolicies];
    for (int p = 0; p < kPolicies; ++p) a[p] = b[p] = hn::Set(d, policies[p].theta[0]);
    for (std::int64_t j = 0; j < features; ++j) {
      const V64 xa = load_column(d, context + j * kBlockRows + i);
      const V64 xb = load_column(d, context + j * kBlockRows + i + lanes);
      for (int p = 0; p < kPolicies; ++p) {
        const V64 weight = hn::Set(d, policies[p].theta[1 + j]);
        a[p] = hn::MulAdd(weight, xa, a[p]);
        b[p] = hn::MulAdd(weight, xb, b[p]);
      }
    }
    for (int p = 0; p < kPolicies; ++p) {
      hn::Store(a[p], d, mean + p * kTileRows + i);
      hn::Store(b[p], d, mean + p * kTileRows + i + lanes);
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

HWY_INLINE V64 log_density(F64 d, const Tile& tile, int i) {
  return log_normal_density(d, hn::Load(d, tile.action + i), hn::Load(d, tile.mean + i), hn::Set(d, tile.inverse_scale),
                            hn::Set(d, tile.log_norm));
}

// First half of the exponentials; false when one of them is too extreme for the fast one.
template <bool kLogPropensity>
HWY_INLINE bool reduce_tile(const Tile& tile, double* r, double* n_bits) {
  const F64 d;
  const V64 limit = hn::Set(d, kVectorExpLimit);
  auto extreme = hn::Gt(limit, limit);
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 x = log_density(d, tile, i);
    if constexpr (kLogPropensity) x = hn::Sub(x, hn::Load(d, tile.propensity + i));
    extreme = hn::Or(extreme, hn::Gt(hn::Abs(x), limit));
    const ReducedExp reduced = reduce_exp(d, x);
    hn::Store(reduced.r, d, r + i);
    hn::Store(reduced.n_bits, d, n_bits + i);
  }
  return hn::AllFalse(d, extreme);
}

// The rows after a tile, of which the columns come from memory while the tile is in the arithmetic units: without this
// the memory would wait through every exponential. No features: nothing is fetched.
template <class T>
struct NextRows {
  const T* context;
  const double* action;
  const double* propensity;
  const double* loss;
  std::int64_t features;

  HWY_INLINE void fetch(int i) const {
    if (features == 0) return;
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
template <bool kLogPropensity, class T>
HWY_INLINE void finish_tile(const Tile& tile, const double* r, const double* n_bits, const NextRows<T>& next,
                            double* out) {
  const F64 d;
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    next.fetch(i);
    V64 w = finish_exp(d, {hn::Load(d, r + i), hn::Load(d, n_bits + i)});
    if constexpr (!kLogPropensity) w = hn::Div(w, hn::Load(d, tile.propensity + i));
    hn::Store(w, d, out + i);
  }
}

// The weights of one tile. Two loops, since from mean to weight is a chain of twenty operations, of which the processor
// could not keep enough in flight to fill its units.
template <bool kLogPropensity, class T>
HWY_INLINE void tile_weights(const Tile& tile, const NextRows<T>& next, double* out) {
  alignas(kColumnAlignment) double r[kTileRows], n_bits[kTileRows];
  if (HWY_LIKELY(reduce_tile<kLogPropensity>(tile, r, n_bits))) {
    finish_tile<kLogPropensity>(tile, r, n_bits, next, out);
    return;
  }
  const F64 d;
  for (int i = 0; i < kTileRows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(weight<kLogPropensity>(d, log_density(d, tile, i), tile.propensity + i), d, out + i);
  }
}

template <bool kLogPropensity, int kPolicies, class T>
HWY_INLINE void group_weights(const Block& block, const T* context, const LinearGaussian* policies, double* out) {
  const double* propensity = kLogPropensity ? block.log_propensity : block.propensity;
  alignas(kColumnAlignment) double mean[kPolicies * kTileRows];
  Tile tiles[kPolicies];
  for (int p = 0; p < kPolicies; ++p) {
    tiles[p].mean = mean + p * kTileRows;
    tiles[p].inverse_scale = 1.0 / policies[p].scale;
    tiles[p].log_norm = log_normal_norm(policies[p].scale);
  }
  for (int first = 0; first < kBlockRows; first += kTileRows) {
    const int then = first + kTileRows;
    NextRows<T> next{context + then, block.action + then, propensity + then, block.loss + then, block.features};
    if (then == kBlockRows || block.features > kPrefetchFeatures) next.features = 0;
    tile_means<kPolicies>(context + first, block.features, policies, mean);
    for (int p = 0; p < kPolicies; ++p) {
      tiles[p].action = block.action + first;
      tiles[p].propensity = propensity + first;
      tile_weights<kLogPropensity>(tiles[p], next, out + p * kBlockRows + first);
      next.features = 0;
    }
  }
}

template <bool kLogPropensity, class T>
HWY_INLINE void all_weights(const Block& block, const T* context, const LinearGaussian* policies, int count,
                            double* out) {
  int p = 0;
  for (; p + kGroup <= count; p += kGroup) {
    group_weights<kLogPropensity, kGroup>(block, context, policies + p, out + p * kBlockRows);
  }
  for (; p < count; ++p) group_weights<kLogPropensity, 1>(block, context, policies + p, out + p * kBlockRows);
}

void gaussian_weights_impl(const Block& block, const LinearGaussian* policies, int count, double* out) {
  const bool log_propensity = block.log_propensity != nullptr;
  if (block.context_type == FloatType::f32) {
    const auto* context = static_cast<const float*>(block.context);
    log_propensity ? all_weights<true>(block, context, policies, count, out)
                   : all_weights<false>(block, context, policies, count, out);
  } else {
    const auto* context = static_cast<const double*>(block.context);
    log_propensity ? all_weights<true>(block, context, policies, count, out)
                   : all_weights<false>(block, context, policies, count, out);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dispatch.hpp"

namespace scrm {
HWY_EXPORT(gaussian_weights_impl);

void gaussian_weights(const Block& block, const LinearGaussian* policies, int count, double* out) noexcept {
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(gaussian_weights_impl)(block, policies, count, out);
}

}  // namespace scrm
#endif
