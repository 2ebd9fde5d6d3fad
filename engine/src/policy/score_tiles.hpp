/// Policies with many actions a few rows at a time: log-probabilities and gradients without the scores of a whole
/// block.
#pragma once

#include <span>

#include "policy/score_matrix.hpp"
#include "scrm/kernels/scores/context_tile.hpp"
#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm {

/// Whether the policy's kind takes tiles of scores and the block can give them.
bool has_tiles(const Policy& policy, const Block& block);

/// What a kind's add_tile keeps of every row of a block, from the tile of the first actions to the derivatives.
struct TileStates {
  static constexpr int kTiles = kBlockRows / kScoreTileRows;
  static constexpr int kNumbers = ScoreTile::kStateColumns * kScoreTileRows;
  alignas(kColumnAlignment) double numbers[kTiles * kNumbers];

  double* of(int tile) noexcept { return numbers + tile * kNumbers; }
};

/// log π(a|x) of the block's rows, from scores of a few rows and actions at a time, which never leave the first-level
/// cache. Contexts that lie row by row must have tiles (ScoreMatrix::has_context_tiles); where one is not finite, its
/// row becomes NaN.
void tiled_log_density(const ScoreMatrix& matrix, const Block& block, double* out);

/// Whether the policy's kind gives π(a|x) itself from tiles, and the block can give them.
bool has_tiled_density(const Policy& policy, const Block& block);

/// The same of π(a|x) itself.
void tiled_density(const ScoreMatrix& matrix, const Block& block, double* out);

/// The same of the weights π(a|x) / p, whatever the policy's kind gives. Afterwards `states` are what derivatives need.
void tiled_weights(const ScoreMatrix& matrix, const Block& block, TileStates& states, double* out);

/// Whether tiled_gradient applies to the policy on this block, and is better than columns of all derivatives.
bool has_tiled_gradient(const Policy& policy, const Block& block);
/// The same for all blocks of a schema.
bool has_tiled_gradient(const Policy& policy, const Schema& schema);

/// A column f over the block's rows, and where Σ_i f_i ∂ log π(a_i|x_i) / ∂θ goes.
struct TiledFactor {
  const double* factor;
  double* gradient;
};

/// Actions whose derivatives are held at a time, at most, and the scratch that tiled_gradient takes, in columns of
/// kBlockRows numbers: theirs, the contexts of a few rows, and what is copied of the rows that count.
inline constexpr int kMostPanelActions = 4 * kScoreTileActions;
inline constexpr int kMostTiledFactors = 3;
inline constexpr std::int64_t kTiledGradientColumns =
    ((kMostPanelActions + 1 + kTileFeatures) * kScoreTileRows + kBlockRows - 1) / kBlockRows +
    ScoreTile::kStateColumns + kMostTiledFactors + 1;

/// Every factor's gradient, of kMostTiledFactors at most. Rows whose factors are all 0 do not count, whatever their
/// derivatives: where they are many, as where most outcomes are 0, the others are taken together and these cost
/// nothing. `states` are those that tiled_weights left for the same block. Actions go by in panels, outermost: their
/// parameters and gradients stay in cache for all rows, and no scores are held beyond a panel of a few rows.
void tiled_gradient(const ScoreMatrix& matrix, const Block& block, TileStates& states,
                    std::span<const TiledFactor> factors, PolicyScratch& scratch);

}  // namespace scrm
