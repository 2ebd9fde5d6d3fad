/// The rows of a block with the largest weights, found without sorting.
#pragma once

#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {

/// Puts the row in its place; false when five others are at least as large.
inline bool insert(TopRows& top, const TopRows::Entry& entry) noexcept {
  int place = top.count;
  while (place > 0 && entry.weight > top.entries[static_cast<std::size_t>(place - 1)].weight) --place;
  if (place == TopRows::kSize) return false;
  if (top.count < TopRows::kSize) ++top.count;
  for (int i = top.count - 1; i > place; --i) {
    top.entries[static_cast<std::size_t>(i)] = top.entries[static_cast<std::size_t>(i - 1)];
  }
  top.entries[static_cast<std::size_t>(place)] = entry;
  return true;
}

TopRows find_top_rows(const Block& block, const double* weights) noexcept;

}  // namespace scrm
