#include "policy/score_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/context_tile.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/scores/tile_products.hpp"

namespace scrm {
namespace {

// With fewer actions, the derivatives of a whole block stay in the second-level cache.
constexpr int kFewActions = 32;

struct RowTile {
  int first_row;
  int rows;
};

/// Columns [first, first + count) of (1, φ(x)) of a tile's rows, times f, row-major.
void scaled_panel(const Block& block, const RowTile& tile, std::int64_t first, int count, const double* f,
                  double* panel) {
  alignas(kColumnAlignment) double columns[kPanelWidth * kScoreTileRows];
  const int ones = first == 0 ? 1 : 0;
  std::fill_n(columns, ones * tile.rows, 1.0);
  mapped_context(block, first + ones - 1, count - ones, columns + ones * tile.rows, tile.first_row, tile.rows);
  for (int i = 0; i < tile.rows; ++i) {
    for (int c = 0; c < count; ++c) panel[i * kPanelWidth + c] = f[tile.first_row + i] * columns[c * tile.rows + i];
  }
}

/// Derivatives of a row that does not count may be no numbers.
void clear_uncounted(const RowTile& tile, std::span<const double* const> factors, int outputs, double* slopes) {
  for (int i = 0; i < tile.rows; ++i) {
    const auto is_zero = [row = tile.first_row + i](const double* f) { return f[row] == 0; };
    if (std::isfinite(slopes[i]) || !std::all_of(factors.begin(), factors.end(), is_zero)) continue;
    for (std::int64_t k = 0; k < outputs; ++k) slopes[k * kScoreTileRows + i] = 0;
  }
}

}  // namespace

bool has_tiles(const Policy& policy, const Block& block) {
  return policy_kind(policy.kind).add_tile != nullptr && block.replays == 1;
}

void tiled_log_density(const ScoreMatrix& matrix, const Block& block, double* out) {
  const Policy& policy = matrix.policy();
  const auto add_tile = policy_kind(policy.kind).add_tile;
  alignas(kColumnAlignment) double scores[kScoreTileActions * kScoreTileRows];
  alignas(kColumnAlignment) double state[ScoreTile::kStateColumns * kScoreTileRows];
  alignas(kColumnAlignment) double contexts[kTileFeatures * kScoreTileRows];
  const bool gathers = matrix.has_context_tiles();
  ScoreTile tile{.scores = scores, .state = state};
  for (tile.first_row = 0; tile.first_row < block.rows; tile.first_row += kScoreTileRows) {
    tile.rows = score_tile_rows(tile.first_row, block.rows);
    if (gathers) {
      gather_context_tile(block, tile.first_row, tile.rows, contexts);
      const double bound = largest_score_bound(contexts, block.features, tile.rows, matrix.score_bound());
      if (block.context_by_row != nullptr && !std::isfinite(bound)) {
        std::fill_n(out + tile.first_row, tile.rows, std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      // One less than the limit: sums of features round.
      tile.plain = bound <= kPlainScore - 1;
    }
    for (tile.first_action = 0; tile.first_action < policy.outputs; tile.first_action += kScoreTileActions) {
      tile.actions = std::min(kScoreTileActions, policy.outputs - tile.first_action);
      ScoreRange range{tile.first_row, tile.rows, tile.first_action, tile.actions, scores, tile.stride};
      gathers ? matrix.tile_scores(contexts, range) : matrix.scores(block, range);
      add_tile(policy, block, tile, out);
    }
  }
}

bool has_tiled_gradient(const Policy& policy, const Block& block) {
  return has_tiles(policy, block) && policy_kind(policy.kind).tile_gradient != nullptr &&
         policy.outputs > kFewActions && block.sparse.indptr == nullptr;
}

bool has_tiled_gradient(const Policy& policy, const Schema& schema) {
  const PolicyKindDefinition& kind = policy_kind(policy.kind);
  return kind.add_tile != nullptr && kind.tile_gradient != nullptr && schema.replays == 1 && !schema.sparse &&
         policy.outputs > kFewActions;
}

void tiled_gradient(const ScoreMatrix& matrix, const Block& block, std::span<const double* const> factors,
                    PolicyScratch& scratch, double* out) {
  const Policy& policy = matrix.policy();
  const std::int64_t width = policy.row_length();
  std::fill_n(out, factors.size() * policy.theta.size(), 0.0);
  constexpr std::int64_t kTilesOfColumn = kBlockRows / kScoreTileRows;
  double* slopes = scratch.columns(kScoresSlot, (policy.outputs + kTilesOfColumn - 1) / kTilesOfColumn);
  alignas(kColumnAlignment) double state[ScoreTile::kStateColumns * kScoreTileRows];
  alignas(kColumnAlignment) double panel[kPanelWidth * kScoreTileRows] = {};
  alignas(kColumnAlignment) double logs[kBlockRows];
  for (RowTile rows{}; rows.first_row < block.rows; rows.first_row += kScoreTileRows) {
    rows.rows = score_tile_rows(rows.first_row, block.rows);
    matrix.scores(block, {.first_row = rows.first_row,
                          .rows = rows.rows,
                          .outputs = policy.outputs,
                          .out = slopes,
                          .stride = kScoreTileRows});
    const ScoreTile all{
        .scores = slopes, .first_row = rows.first_row, .rows = rows.rows, .actions = policy.outputs, .state = state};
    policy_kind(policy.kind).tile_gradient(policy, block, all, slopes, logs);
    clear_uncounted(rows, factors, policy.outputs, slopes);
    for (std::int64_t first = 0; first < width; first += kPanelWidth) {
      const int count = static_cast<int>(std::min<std::int64_t>(kPanelWidth, width - first));
      for (std::size_t m = 0; m < factors.size(); ++m) {
        scaled_panel(block, rows, first, count, factors[m], panel);
        add_tile_products({.slopes = slopes,
                           .stride = kScoreTileRows,
                           .outputs = policy.outputs,
                           .rows = rows.rows,
                           .panel = panel,
                           .columns = count,
                           .out = out + m * policy.theta.size() + first,
                           .out_stride = width});
      }
    }
  }
}

}  // namespace scrm
