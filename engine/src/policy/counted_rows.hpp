/// CountedRows: the rows of a block that a gradient depends on, taken together where the others are many.
#pragma once

#include <array>
#include <span>

#include "policy/score_tiles.hpp"

namespace scrm {

/// Rows whose factors are not all 0. Where leaving the others out makes a quarter fewer tiles, what a gradient of
/// categorical actions reads of the counted rows (actions, states and factors) is copied to `memory`, one after the
/// other; else everything is as it is in the block. Which of the two depends on the factors alone, and so do the bits.
class CountedRows {
 public:
  /// `memory`, aligned, has room for kStateColumns + kMostTiledFactors + 1 columns; block and states outlive this.
  CountedRows(const Block& block, bool has_context_tiles, TileStates& states, std::span<const TiledFactor> factors,
              double* memory);

  bool are_together() const noexcept { return together_; }
  /// A block of these rows; where they are together, of their actions alone.
  const Block& rows() const noexcept { return rows_; }
  double* state(int tile) const noexcept { return states_ + tile * TileStates::kNumbers; }
  std::span<const TiledFactor> factors() const noexcept { return {factors_.data(), count_}; }
  /// The contexts of rows [first, first + count) of those together, in columns `count` apart.
  void gather_contexts(int first, int count, double* out) const;

 private:
  void take_together(std::span<const TiledFactor> factors, TileStates& states, double* memory);

  const Block& block_;
  Block rows_;
  bool together_ = false;
  double* states_;
  std::array<TiledFactor, kMostTiledFactors> factors_;
  std::size_t count_;
  std::array<int, kBlockRows> index_;  // of the rows together, in the block
};

}  // namespace scrm
