/// What the built-in kinds of policy share. Each is defined in the file of its name and listed in policy_kinds.inc.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/policy/target_policy.hpp"

namespace scrm {

/// Scratch slots of policies, after the caller's: scores, a panel of contexts as doubles, products of a gradient; and
/// of models: their own scores, what those are multiplied with, and what they say of a block.
enum ScratchSlot {
  kScoresSlot = PolicyScratch::kCallerSlot + 1,
  kPanelSlot,
  kProductSlot,
  kModelScoresSlot,
  kModelFactorsSlot,
  kModelColumnsSlot,
  kScratchSlots
};

/// Whether gaussian_weights applies to the block.
inline bool has_fused_weights(const Block& block) noexcept {
  return block.sparse.indptr == nullptr && block.features > 0;
}

/// Where a column's number for a row stands.
inline std::size_t cell(int column, int row) noexcept {
  return static_cast<std::size_t>(column) * kBlockRows + static_cast<std::size_t>(row);
}

inline int uniform_index(int count, RandomStream& random) noexcept {
  return std::min(static_cast<int>(random.uniform() * count), count - 1);
}

}  // namespace scrm
