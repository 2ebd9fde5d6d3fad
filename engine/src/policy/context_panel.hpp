/// A few columns of a block's mapped context as doubles, for matrix products.
#pragma once

#include <cstdint>

#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/scores.hpp"

namespace scrm {

// Columns turned to doubles at a time: 64 columns of 2,048 rows are one MiB, which stays in L2 or L3 between the
// conversion and the product.
inline constexpr std::int64_t kPanelColumns = 64;

/// Columns [first, first + count) of φ(x), count ≤ kPanelColumns: the block's own memory where that holds them already.
inline const double* context_panel(const Block& block, std::int64_t first, std::int64_t count, PolicyScratch& scratch) {
  if (block.context_type == FloatType::f64 && first + count <= block.features) {
    return static_cast<const double*>(block.context) + first * kBlockRows;
  }
  double* converted = scratch.columns(kPanelSlot, kPanelColumns);
  mapped_context(block, first, count, converted);
  return converted;
}

/// The contexts of a replayed block, one row each: for kernels that read nothing but the context.
inline Block distinct_contexts(const Block& block) noexcept {
  Block contexts = block;
  contexts.rows = context_rows(block);
  contexts.replays = 1;
  return contexts;
}

}  // namespace scrm
