/// IncludedRows: the rows of a block that the sums are taken over.
#pragma once

#include <cstdint>
#include <span>

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

/// The block's rows but for some, each with its number in `row`: these, and the padding behind the block up to a whole
/// group, are marked as rows that do not count.
template <class Row>
IncludedRows without_rows(const Block& block, double* w, std::span<const Row> excluded) noexcept {
  IncludedRows out;
  out.w = w;
  out.y = block.loss;
  out.count = block.rows - static_cast<int>(excluded.size());
  out.padded = (block.rows + kGroupRows - 1) / kGroupRows * kGroupRows;
  const auto mark = [&out, w](std::int64_t row) {
    w[row] = -1;
    out.masked_groups |= std::uint64_t{1} << (row / kGroupRows);
  };
  for (const Row& row : excluded) mark(row.row - block.first_row);
  for (int i = block.rows; i < out.padded; ++i) mark(i);
  return out;
}

}  // namespace scrm
