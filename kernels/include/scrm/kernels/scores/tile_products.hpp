/// Products of a few rows' derivatives by many scores with a few columns: gradients of policies with many actions.
#pragma once

#include <cstdint>

namespace scrm {

/// Columns of a panel of rows, at most; rows lie this far apart. Twenty-four are whole vectors of any length, and few
/// enough that a panel of kScoreTileRows rows stays in the first-level cache.
inline constexpr int kPanelWidth = 24;

/// panel[i kPanelWidth + c] = factor[i] columns[c stride + i] for c < count; what lies past them stays.
void fill_panel(const double* columns, std::int64_t stride, int count, int rows, const double* factor,
                double* panel) noexcept;

/// out[k out_stride + c] += Σ_i slopes[k stride + i] panel[i kPanelWidth + c] for c < columns. Every sum goes from the
/// first row to the last, so that its bits are the same with vectors of any length.
struct TileProducts {
  const double* slopes = nullptr;  ///< derivatives by score k of every row, column k at slopes + k stride
  std::int64_t stride = 0;
  int outputs = 0;
  int rows = 0;
  const double* panel = nullptr;  ///< aligned, row-major; what lies past its columns is finite
  int columns = 0;
  double* out = nullptr;
  std::int64_t out_stride = 0;
};
void add_tile_products(const TileProducts& product) noexcept;

}  // namespace scrm
