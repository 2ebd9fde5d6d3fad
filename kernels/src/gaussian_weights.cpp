#include "scrm/kernels/gaussian_weights.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gaussian_weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "gaussian_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// Policies that share each load of the context.
constexpr int kGroup = 4;

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
#include "preconditions.hpp"

namespace scrm {
HWY_EXPORT(gaussian_weights_impl);

void gaussian_weights(const Block& block, const LinearGaussian* policies, int count, double* out) noexcept {
  assert(has_valid_context(block) && has_propensity(block) && block.sparse.indptr == nullptr);
  assert(policies != nullptr && count >= 1 && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(gaussian_weights_impl)(block, policies, count, out);
}

}  // namespace scrm
#endif
