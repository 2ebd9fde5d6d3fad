#include "scrm/kernels/weights/gaussian_weights.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/gaussian_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "scores/row_means-inl.hpp"
#include "weights/gaussian_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// Policies that share each load of the context.
constexpr int kGroup = 4;

// Contexts in columns, as most blocks have them.
template <class T>
struct ContextColumns {
  using Number = T;
  static constexpr bool kAudit = false;
  const T* columns;

  template <int kPolicies>
  HWY_INLINE void means(int first, std::int64_t features, const LinearGaussian* policies, double* mean) const {
    tile_means<kPolicies>(columns + first, features, policies, mean);
  }

  HWY_INLINE NextRows<T> next(const Block& block, const double* propensity, int then) const {
    if (then == kBlockRows || block.features > kPrefetchFeatures) return {};
    return {columns + then, block.action + then, propensity + then, block.loss + then, block.features};
  }
};

// Contexts and lists of somebody's array or file, row by row, which nobody has looked at yet.
template <class T>
struct ContextRows {
  using Number = T;
  static constexpr bool kAudit = true;
  const std::byte* rows;

  template <int kPolicies>
  HWY_INLINE void means(int first, std::int64_t features, const LinearGaussian* policies, double* mean) const {
    const std::size_t row_bytes = static_cast<std::size_t>(features) * sizeof(T);
    row_means<kPolicies, T>(rows + static_cast<std::size_t>(first) * row_bytes, features, policies, mean);
  }

  // The lists, and the half of the contexts that row_means does not fetch.
  struct Next {
    const std::byte* half;
    std::size_t bytes;
    const double* action;
    const double* propensity;
    const double* loss;

    HWY_INLINE void fetch(int i) const {
      constexpr int kRows = static_cast<int>(kColumnAlignment / sizeof(double));
      if (action == nullptr || i % kRows != 0) return;
      fetch_share(half, bytes, i / kRows, kTileRows / kRows);
      prefetch(action + i);
      prefetch(propensity + i);
      prefetch(loss + i);
    }
  };

  HWY_INLINE Next next(const Block& block, const double* propensity, int then) const {
    const std::size_t row_bytes = static_cast<std::size_t>(block.features) * sizeof(T);
    const std::size_t half = row_bytes <= kLongestFetched ? kTileRows * row_bytes / 2 : 0;
    return {rows + static_cast<std::size_t>(then) * row_bytes + half, half, block.action + then, propensity + then,
            block.loss + then};
  }
};

template <bool kLogPropensity, int kPolicies, class Context>
HWY_INLINE void group_weights(const Block& block, const Context& context, const LinearGaussian* policies, double* out) {
  const double* propensity = kLogPropensity ? block.log_propensity : block.propensity;
  alignas(kColumnAlignment) double mean[kPolicies * kTileRows];
  Tile tiles[kPolicies];
  for (int p = 0; p < kPolicies; ++p) {
    tiles[p].mean = mean + p * kTileRows;
    tiles[p].inverse_scale = 1.0 / policies[p].scale;
    tiles[p].log_norm = log_normal_norm(policies[p].scale);
  }
  for (int first = 0; first < kBlockRows; first += kTileRows) {
    auto next = context.next(block, propensity, first + kTileRows);
    context.template means<kPolicies>(first, block.features, policies, mean);
    for (int p = 0; p < kPolicies; ++p) {
      tiles[p].action = block.action + first;
      tiles[p].propensity = propensity + first;
      tile_weights<kLogPropensity, Context::kAudit>(tiles[p], next, out + p * kBlockRows + first);
      next.action = nullptr;
    }
  }
}

template <bool kLogPropensity, class Context>
HWY_INLINE void all_weights(const Block& block, const Context& context, const LinearGaussian* policies, int count,
                            double* out) {
  int p = 0;
  for (; p + kGroup <= count; p += kGroup) {
    group_weights<kLogPropensity, kGroup>(block, context, policies + p, out + p * kBlockRows);
  }
  for (; p < count; ++p) group_weights<kLogPropensity, 1>(block, context, policies + p, out + p * kBlockRows);
}

template <class Context>
HWY_INLINE void weights_of(const Block& block, const Context& context, const LinearGaussian* policies, int count,
                           double* out) {
  block.log_propensity != nullptr ? all_weights<true>(block, context, policies, count, out)
                                  : all_weights<false>(block, context, policies, count, out);
}

template <class T>
HWY_INLINE void weights_by_layout(const Block& block, const LinearGaussian* policies, int count, double* out) {
  if (block.context_by_row != nullptr) {
    weights_of(block, ContextRows<T>{block.context_by_row}, policies, count, out);
  } else {
    weights_of(block, ContextColumns<T>{static_cast<const T*>(block.context)}, policies, count, out);
  }
}

void gaussian_weights_impl(const Block& block, const LinearGaussian* policies, int count, double* out) {
  block.context_type == FloatType::f32 ? weights_by_layout<float>(block, policies, count, out)
                                       : weights_by_layout<double>(block, policies, count, out);
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(gaussian_weights_impl);

void gaussian_weights(const Block& block, const LinearGaussian* policies, int count, double* out) noexcept {
  assert((block.context_by_row != nullptr || has_valid_context(block)) && has_propensity(block));
  assert(block.sparse.indptr == nullptr);
  assert(policies != nullptr && count >= 1 && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(gaussian_weights_impl)(block, policies, count, out);
}

}  // namespace scrm
#endif
