#include "estimate/finite_context.hpp"

#include <cstddef>
#include <limits>

#include "pass/uncertain_context.hpp"
#include "scrm/kernels/scores/transpose.hpp"

namespace scrm {
namespace {

template <class T>
bool is_finite_context(const Block& block) noexcept {
  constexpr T kMost = std::numeric_limits<T>::max();
  return all_in_range(block.context_by_row, static_cast<std::size_t>(block.features) * kBlockRows, -kMost, kMost);
}

bool has_nan(const double* column) noexcept {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  return !all_in_range(reinterpret_cast<const std::byte*>(column), kBlockRows, -kAny, kAny);
}

}  // namespace

void require_finite_context(const Block& block, std::span<const TargetPolicy* const> policies, const double* weights) {
  for (std::size_t p = 0; p < policies.size(); ++p) {
    if (!policies[p]->reads_context_by_row() || policies[p]->target_column()) continue;
    const double* column = weights + p * kBlockRows;
    if (has_nan(column)) throw UncertainContext{};
    return;
  }
  if (!(block.context_type == FloatType::f32 ? is_finite_context<float>(block) : is_finite_context<double>(block)))
    throw UncertainContext{};
}

}  // namespace scrm
