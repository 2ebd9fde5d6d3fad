/// ScoreTile: the scores of a few rows for a few actions, small enough to stay in cache from product to probability.
#pragma once

#include <cstdint>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Rows and actions of a tile: 15 KiB of scores, half of a first-level cache; 30 actions make groups of five or six.
/// The number of actions is part of the bits of softmax probabilities with more of them and scores beyond kPlainScore.
inline constexpr int kScoreTileRows = 64;
inline constexpr int kScoreTileActions = 30;

/// Rows whose largest score is at most this far from zero need no shift before they are exponentiated: no sum of theirs
/// overflows, and none that matters vanishes.
inline constexpr double kPlainScore = 200.0;

/// Actions [first_action, first_action + actions) of rows [first_row, first_row + rows) of a block. Rows come in whole
/// vectors: `rows` is a multiple of 32, and those past the block's end mean nothing.
struct ScoreTile {
  const double* scores = nullptr;  ///< aligned; action k of the tile begins at scores + k * stride
  std::int64_t stride = kScoreTileRows;
  int first_row = 0;
  int rows = 0;
  int first_action = 0;
  int actions = 0;
  /// kStateColumns columns of kScoreTileRows, aligned: what a probability has come to, kept from the tile of the first
  /// actions to that of the last.
  double* state = nullptr;
  /// No score of these rows, in this tile or in another, is farther from zero than kPlainScore: what somebody knows
  /// beforehand need not be looked for. It changes no bit.
  bool plain = false;
  static constexpr int kStateColumns = 3;
};

/// Rows of the tile that begins at `first_row` of a block with `rows` valid ones.
constexpr int score_tile_rows(int first_row, int rows) noexcept {
  const int left = (rows - first_row + 31) / 32 * 32;
  return left < kScoreTileRows ? left : kScoreTileRows;
}

/// Calls `use` with every tile of columns of scores that lie kBlockRows apart, those of one group of rows after each
/// other.
template <class Use>
void for_each_tile(const double* scores, int rows, int actions, Use use) {
  alignas(kColumnAlignment) double state[ScoreTile::kStateColumns * kScoreTileRows];
  ScoreTile tile{.stride = kBlockRows, .state = state};
  for (tile.first_row = 0; tile.first_row < rows; tile.first_row += kScoreTileRows) {
    tile.rows = score_tile_rows(tile.first_row, rows);
    for (tile.first_action = 0; tile.first_action < actions; tile.first_action += kScoreTileActions) {
      const int left = actions - tile.first_action;
      tile.actions = left < kScoreTileActions ? left : kScoreTileActions;
      tile.scores = scores + static_cast<std::int64_t>(tile.first_action) * kBlockRows + tile.first_row;
      use(tile);
    }
  }
}

}  // namespace scrm
