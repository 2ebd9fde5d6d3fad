#include "scrm/kernels/vector/elementary.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vector/elementary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {

// The last vector is loaded and stored lane by lane, so that arrays need no padding.
template <class Function>
HWY_INLINE void map_array(const double* in, double* out, int n, Function function) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(function(d, hn::LoadU(d, in + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN double tail[HWY_MAX_BYTES / sizeof(double)];
  for (int j = 0; j < lanes; ++j) tail[j] = in[i + j < n ? i + j : n - 1];
  hn::Store(function(d, hn::Load(d, tail)), d, tail);
  for (int j = 0; i + j < n; ++j) out[i + j] = tail[j];
}

void exp_array_impl(const double* in, double* out, int n) {
  map_array(in, out, n, [](F64 d, V64 x) HWY_ATTR { return exp_unbounded(d, x); });
}

void log_array_impl(const double* in, double* out, int n) {
  map_array(in, out, n, [](F64 d, V64 x) HWY_ATTR { return log_nonnegative(d, x); });
}

void cos_array_impl(const double* in, double* out, int n) {
  map_array(in, out, n, [](F64 d, V64 x) HWY_ATTR { return cos_unbounded(d, x); });
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(exp_array_impl);
HWY_EXPORT(log_array_impl);
HWY_EXPORT(cos_array_impl);

void exp_array(const double* in, double* out, int n) noexcept {
  assert(n >= 0 && (n == 0 || (in != nullptr && out != nullptr)));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(exp_array_impl)(in, out, n);
}

void log_array(const double* in, double* out, int n) noexcept {
  assert(n >= 0 && (n == 0 || (in != nullptr && out != nullptr)));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(log_array_impl)(in, out, n);
}

void cos_array(const double* in, double* out, int n) noexcept {
  assert(n >= 0 && (n == 0 || (in != nullptr && out != nullptr)));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(cos_array_impl)(in, out, n);
}

}  // namespace scrm
#endif
