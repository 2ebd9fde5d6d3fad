#include "scrm/kernels/weights/group_sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/group_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace scrm::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::ScalableTag<double>;
using V64 = hn::Vec<F64>;

// Calls add(sums, first, end) for the rows [first, end) of each group.
template <class Add>
HWY_INLINE void each_group(const RowsOfGroups& groups, Add add) {
  double* sums = groups.sums;
  std::int64_t left = groups.group_rows - groups.offset;
  for (int first = 0; first < groups.rows; left = groups.group_rows, sums += groups.width) {
    const int end = groups.rows - first < left ? groups.rows : first + static_cast<int>(left);
    add(sums, first, end);
    first = end;
  }
}

struct WeightTerms {
  V64 weight, ips, clipped, ix;
};

template <bool kClip>
HWY_INLINE void add_rows(F64 d, V64 w, V64 y, V64 alpha, V64 clip, WeightTerms& sums) {
  const V64 ips = hn::Mul(w, y);
  sums.weight = hn::Add(sums.weight, w);
  sums.ips = hn::Add(sums.ips, ips);
  if constexpr (kClip) sums.clipped = hn::Add(sums.clipped, hn::Mul(hn::Min(w, clip), y));
  sums.ix = hn::Add(sums.ix, hn::Div(ips, hn::MulAdd(alpha, w, hn::Set(d, 1.0))));
}

template <bool kClip>
HWY_INLINE void weight_groups(const RowsOfGroups& groups, const WeightGroupColumns& columns, const double* weights,
                              const double* losses, double alpha, double clip) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V64 zero = hn::Zero(d), a = hn::Set(d, alpha), most = hn::Set(d, clip);
  each_group(groups, [&](double* sums, int first, int end) HWY_ATTR {
    double weight = 0, ips = 0, clipped = 0, ix = 0;
    int i = first;
    if (end - first >= 2 * lanes) {
      // Two of each, so that an addition need not wait for the one before.
      WeightTerms even{zero, zero, zero, zero}, odd = even;
      for (; i + 2 * lanes <= end; i += 2 * lanes) {
        add_rows<kClip>(d, hn::LoadU(d, weights + i), hn::LoadU(d, losses + i), a, most, even);
        add_rows<kClip>(d, hn::LoadU(d, weights + i + lanes), hn::LoadU(d, losses + i + lanes), a, most, odd);
      }
      const auto total = [d](V64 one, V64 other)
                             HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, hn::Add(one, other))); };
      weight = total(even.weight, odd.weight);
      ips = total(even.ips, odd.ips);
      if constexpr (kClip) clipped = total(even.clipped, odd.clipped);
      ix = total(even.ix, odd.ix);
    }
    for (; i < end; ++i) {
      const double product = weights[i] * losses[i];
      weight += weights[i];
      ips += product;
      if constexpr (kClip) clipped += (weights[i] < clip ? weights[i] : clip) * losses[i];
      ix += product / (1 + alpha * weights[i]);
    }
    sums[columns.weight] += weight;
    sums[columns.ips] += ips;
    if (columns.clipped >= 0) sums[columns.clipped] += kClip ? clipped : ips;
    sums[columns.ix] += ix;
  });
}

void weight_groups_impl(const RowsOfGroups& groups, const WeightGroupColumns& columns, const double* weights,
                        const double* losses, double alpha, double clip) {
  clip > 0 ? weight_groups<true>(groups, columns, weights, losses, alpha, clip)
           : weight_groups<false>(groups, columns, weights, losses, alpha, clip);
}

void column_groups_impl(const RowsOfGroups& groups, int at, const double* values) {
  const F64 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  each_group(groups, [&](double* sums, int first, int end) HWY_ATTR {
    double sum = 0;
    int i = first;
    if (end - first >= 2 * lanes) {
      V64 even = hn::Zero(d), odd = even;
      for (; i + 2 * lanes <= end; i += 2 * lanes) {
        even = hn::Add(even, hn::LoadU(d, values + i));
        odd = hn::Add(odd, hn::LoadU(d, values + i + lanes));
      }
      sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    }
    for (; i < end; ++i) sum += values[i];
    sums[at] += sum;
  });
}

}  // namespace scrm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "vector/dispatch.hpp"
#include "vector/preconditions.hpp"

namespace scrm {
HWY_EXPORT(weight_groups_impl);
HWY_EXPORT(column_groups_impl);

namespace {

inline bool are_groups(const RowsOfGroups& groups) noexcept {
  return groups.rows >= 0 && groups.rows <= kBlockRows && groups.group_rows >= 1 && groups.offset >= 0 &&
         groups.offset < groups.group_rows && groups.sums != nullptr;
}

}  // namespace

void add_weight_groups(const RowsOfGroups& groups, const WeightGroupColumns& columns, const double* weights,
                       const double* losses, double alpha, double clip) noexcept {
  assert(are_groups(groups) && is_column(weights) && is_list(losses) && alpha >= 0 && clip >= 0);
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(weight_groups_impl)(groups, columns, weights, losses, alpha, clip);
}

void add_column_groups(const RowsOfGroups& groups, int at, const double* values) noexcept {
  assert(are_groups(groups) && at >= 0 && is_list(values));
  ensure_isa();
  HWY_DYNAMIC_DISPATCH(column_groups_impl)(groups, at, values);
}

}  // namespace scrm
#endif
