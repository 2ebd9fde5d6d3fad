#include "scrm/kernels/weights/weights.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/weights.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

template <bool kLogPropensity>
HWY_INLINE void from_log_density(const double* log_density, const double* propensity, double* out) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(weight<kLogPropensity>(d, hn::Load(d, log_density + i), propensity + i), d, out + i);
  }
}

void from_logs_impl(const double* log_density, const double* log_propensity, double* out) {
  from_log_density<true>(log_density, log_propensity, out);
}

void from_log_and_propensity_impl(const double* log_density, const double* propensity, double* out) {
  from_log_density<false>(log_density, propensity, out);
}

void ratio_impl(const double* density, const double* propensity, double* out) {
  const F64 d;
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    hn::Store(hn::Div(hn::LoadU(d, density + i), hn::LoadU(d, propensity + i)), d, out + i);
  }
}

void label_excess_impl(const double* target, const double* logged, int labels, double alpha, double* out) {
  const F64 d;
  const V64 one = hn::Set(d, 1.0);
  const V64 a = hn::Set(d, alpha);
  for (int i = 0; i < kBlockRows; i += static_cast<int>(hn::Lanes(d))) {
    V64 sum = hn::Zero(d);
    for (int k = 0; k < labels; ++k) {
      const V64 pi = hn::Load(d, target + static_cast<std::int64_t>(k) * kBlockRows + i);
      const V64 p = hn::Load(d, logged + static_cast<std::int64_t>(k) * kBlockRows + i);
      sum = hn::Add(sum, hn::Sub(hn::Div(pi, hn::MulAdd(a, pi, p)), one));
    }
    hn::Store(sum, d, out + i);
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(from_logs_impl);
HWY_EXPORT(from_log_and_propensity_impl);
HWY_EXPORT(ratio_impl);
HWY_EXPORT(label_excess_impl);

void weights_from_log_density(const Block& block, const double* log_density, double* out) noexcept {
  assert(has_propensity(block) && is_column(log_density) && is_column(out));
  ensure_isa();
  if (block.log_propensity != nullptr) {
    HWY_DYNAMIC_DISPATCH(from_logs_impl)(log_density, block.log_propensity, out);
  } else {
    HWY_DYNAMIC_DISPATCH(from_log_and_propensity_impl)(log_density, block.propensity, out);
  }
}

void weights_from_density(const Block& block, const double* density, double* out) noexcept {
  assert(has_propensity(block) && is_list(density) && is_column(out));
  ensure_isa();
  if (block.log_propensity == nullptr) {
    HWY_DYNAMIC_DISPATCH(ratio_impl)(density, block.propensity, out);
    return;
  }
  for (int i = 0; i < block.rows; ++i) out[i] = std::exp(std::log(density[i]) - block.log_propensity[i]);
}

void label_weight_excess(const Block& block, const double* label_probability, double alpha, double* out) noexcept {
  assert(is_column(block.label_propensity) && is_column(label_probability) && alpha >= 0 && is_column(out));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(label_excess_impl)(label_probability, block.label_propensity, block.num_actions, alpha, out);
}

}  // namespace scrm
#endif
