/// Sums over groups of consecutive rows: what an estimate's distribution is read from.
#pragma once

#include <cstdint>

namespace scrm {

/// Rows [0, rows) of a block and the groups that they lie in: row i belongs to group (offset + i) / group_rows, whose
/// sums begin at `sums + group * width`. `sums` has those of the first row's group, `offset` is below group_rows.
struct RowsOfGroups {
  int rows = 0;
  std::int64_t group_rows = 1;
  std::int64_t offset = 0;
  double* sums = nullptr;
  std::int64_t width = 0;
};

/// Where the sums of a group's weights stand among its sums; `clipped` is −1 where that is not wanted.
struct WeightGroupColumns {
  int weight, ips, clipped, ix;
};

/// Adds w, w y, min(w, clip) y (w y where clip is 0) and w y / (1 + α w) of every row to its group.
void add_weight_groups(const RowsOfGroups& groups, const WeightGroupColumns& columns, const double* weights,
                       const double* losses, double alpha, double clip) noexcept;

/// Adds a number of every row to column `at` of its group.
void add_column_groups(const RowsOfGroups& groups, int at, const double* values) noexcept;

}  // namespace scrm
