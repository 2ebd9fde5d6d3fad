#include "scrm/kernels/scores/signed_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scores/signed_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vector/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
HWY_INLINE V64 with_signs(F64 d, const std::uint8_t* bits, V64 values) {
  const hn::Rebind<std::uint8_t, F64> d8;
  const hn::Rebind<std::int32_t, F64> d32;
  const V64 set = hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d8, bits)));
  return hn::IfThenElse(hn::Eq(set, hn::Zero(d)), hn::Neg(values), values);
}

void add_signed_scores_impl(const std::uint8_t* bits, const double* scores, int contexts, int replays, double* rows) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d)), count = contexts * replays;
  if (replays % lanes == 0) {
    for (int c = 0, i = 0; c < contexts; ++c) {
      const V64 score = hn::Set(d, scores[c]);
      for (const int end = i + replays; i < end; i += lanes)
        hn::StoreU(hn::Add(hn::LoadU(d, rows + i), with_signs(d, bits + i, score)), d, rows + i);
    }
    return;
  }
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    double wide[HWY_MAX_BYTES / sizeof(double)];
    for (int k = 0; k < lanes; ++k) wide[k] = scores[(i + k) / replays];
    hn::StoreU(hn::Add(hn::LoadU(d, rows + i), with_signs(d, bits + i, hn::LoadU(d, wide))), d, rows + i);
  }
  for (; i < count; ++i) rows[i] += bits[i] != 0 ? scores[i / replays] : -scores[i / replays];
}

void signed_context_sums_impl(const std::uint8_t* bits, const double* rows, int contexts, int replays, double* out) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  if (replays % lanes == 0) {
    for (int c = 0, i = 0; c < contexts; ++c) {
      V64 sum = hn::Zero(d);
      for (const int end = i + replays; i < end; i += lanes)
        sum = hn::Add(sum, with_signs(d, bits + i, hn::LoadU(d, rows + i)));
      out[c] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
    return;
  }
  for (int c = 0; c < contexts; ++c) {
    out[c] = 0;
    for (int i = c * replays; i < (c + 1) * replays; ++i) out[c] += bits[i] != 0 ? rows[i] : -rows[i];
  }
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(add_signed_scores_impl);
HWY_EXPORT(signed_context_sums_impl);

void add_signed_scores(const std::uint8_t* bits, const double* scores, int contexts, int replays,
                       double* rows) noexcept {
  assert(bits != nullptr && scores != nullptr && rows != nullptr && replays >= 1);
  assert(contexts >= 0 && contexts * replays <= kBlockRows);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(add_signed_scores_impl)(bits, scores, contexts, replays, rows);
}

void signed_context_sums(const std::uint8_t* bits, const double* rows, int contexts, int replays,
                         double* out) noexcept {
  assert(bits != nullptr && rows != nullptr && out != nullptr && replays >= 1);
  assert(contexts >= 0 && contexts * replays <= kBlockRows);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(signed_context_sums_impl)(bits, rows, contexts, replays, out);
}

}  // namespace scrm
#endif
