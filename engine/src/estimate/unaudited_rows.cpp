#include "estimate/unaudited_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "pass/needs_audit.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "scrm/io/shard/audit.hpp"
#include "scrm/kernels/scores/transpose.hpp"

namespace scrm {
namespace {

template <class T>
bool is_finite_context(const Block& block) noexcept {
  constexpr T kMost = std::numeric_limits<T>::max();
  return all_in_range(block.context_by_row, static_cast<std::size_t>(block.features) * kBlockRows, -kMost, kMost);
}

bool has_finite_context(const Block& block) noexcept {
  return block.context_type == FloatType::f32 ? is_finite_context<float>(block) : is_finite_context<double>(block);
}

bool has_nan(const double* column) noexcept {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  return !all_in_range(reinterpret_cast<const std::byte*>(column), kBlockRows, -kAny, kAny);
}

}  // namespace

void require_good_rows(const Block& block, std::span<const TargetPolicy* const> policies, const double* weights,
                       const Moments& loss) {
  const auto reader = std::find_if(policies.begin(), policies.end(), [](const TargetPolicy* policy) {
    return policy->reads_context_by_row() && !policy->target_column();
  });
  const bool is_read = reader != policies.end();
  const bool reads_lists =
      is_read && (*reader)->linear_gaussian().theta != nullptr && has_fused_weights(block) && block.num_targets == 0;
  const bool good =
      std::isfinite(loss.mean) &&
      (is_read ? !has_nan(weights + (reader - policies.begin()) * kBlockRows) : has_finite_context(block)) &&
      (reads_lists || has_good_lists(block));
  if (!good) throw NeedsAudit{};
}

}  // namespace scrm
