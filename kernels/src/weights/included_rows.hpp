/// IncludedRows: the rows of a block that the sums are taken over.
#pragma once

#include <cstdint>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Rows of a group: few enough that the five top rows leave most of a block's groups without excluded rows.
inline constexpr int kGroupRows = 64;
static_assert(kBlockRows / kGroupRows <= 64, "one bit a group");

/// Rows whose means are taken as shifts for all: enough to be near, few enough to cost nothing.
inline constexpr int kShiftSample = 32;

/// Rows with a negative weight do not count.
struct IncludedRows {
  double* w = nullptr;
  const double* y = nullptr;
  int count = 0;                    ///< rows that count
  int padded = 0;                   ///< all rows, up to a whole group
  std::uint64_t masked_groups = 0;  ///< bit c: group c has rows that do not count
};

}  // namespace scrm
