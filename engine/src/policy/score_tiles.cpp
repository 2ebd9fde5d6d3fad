#include "policy/score_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/counted_rows.hpp"
#include "policy/kinds/policy_kinds.hpp"
#include "scrm/kernels/scores/context_tile.hpp"
#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/scores/tile_products.hpp"
#include "scrm/kernels/weights/weights.hpp"

namespace scrm {
namespace {

// With fewer actions, the derivatives of a whole block stay in the second-level cache.
constexpr int kFewActions = 32;

// Actions whose parameters, and what is summed beside them, stay in the second-level cache while all rows of a block
// pass by.
constexpr std::int64_t kPanelBytes = std::int64_t{320} << 10;

/// As many actions as fit, in whole tiles; `numbers` are held for each.
int panel_actions(std::int64_t numbers, int most) noexcept {
  const std::int64_t tiles = kPanelBytes / (numbers * static_cast<std::int64_t>(sizeof(double)) * kScoreTileActions);
  return static_cast<int>(std::clamp<std::int64_t>(tiles, 1, most / kScoreTileActions)) * kScoreTileActions;
}

/// The contexts of a few rows, a column of ones before them, and their scores.
class TileContexts {
 public:
  TileContexts(const ScoreMatrix& matrix, const Block& block, double* memory)
      : matrix_(matrix), block_(block), memory_(matrix.has_context_tiles() ? memory : nullptr) {}

  void gather(int first_row, int rows) {
    if (place(first_row, rows)) gather_context_tile(block_, first_row, rows, memory_ + rows);
  }

  /// Of a tile of rows that count, where those are taken together.
  void gather(const CountedRows& counted, int first_row, int rows) {
    if (!counted.are_together()) return gather(first_row, rows);
    if (place(first_row, rows)) counted.gather_contexts(first_row, rows, memory_ + rows);
  }

  /// No score is farther from zero; infinite where nothing is known, or a context is not finite.
  double score_bound() const {
    if (memory_ == nullptr) return std::numeric_limits<double>::infinity();
    return largest_score_bound(memory_ + rows_, block_.features, rows_, matrix_.score_bound());
  }

  void scores(int first_action, int actions, double* out) const {
    const ScoreRange range{first_row_, rows_, first_action, actions, out, kScoreTileRows};
    memory_ != nullptr ? matrix_.tile_scores(memory_ + rows_, range) : matrix_.scores(block_, range);
  }

  /// Columns [first, first + count) of (1, φ(x)), `rows` apart: those gathered, or else made in `room`.
  const double* columns(std::int64_t first, int count, double* room) const {
    if (memory_ != nullptr) return memory_ + first * rows_;
    const int ones = first == 0 ? 1 : 0;
    std::fill_n(room, ones * rows_, 1.0);
    mapped_context(block_, first + ones - 1, count - ones, room + ones * rows_, first_row_, rows_);
    return room;
  }

  static constexpr std::int64_t kNumbers = (1 + kTileFeatures) * kScoreTileRows;

 private:
  /// Where the tile is, and its column of ones; whether contexts are to be gathered behind it.
  bool place(int first_row, int rows) {
    const bool same_place = rows == rows_;
    first_row_ = first_row;
    rows_ = rows;
    if (memory_ != nullptr && !same_place) std::fill_n(memory_, rows, 1.0);  // else they are still there
    return memory_ != nullptr;
  }

  const ScoreMatrix& matrix_;
  const Block& block_;
  double* memory_;
  int first_row_ = 0, rows_ = 0;
};

/// Derivatives of a row that does not count may be no numbers.
void clear_uncounted(const ScoreTile& panel, std::span<const TiledFactor> factors, double* slopes) {
  for (int i = 0; i < panel.rows; ++i) {
    const auto is_zero = [row = panel.first_row + i](const TiledFactor& f) { return f.factor[row] == 0; };
    if (std::isfinite(slopes[i]) || !std::all_of(factors.begin(), factors.end(), is_zero)) continue;
    for (std::int64_t k = 0; k < panel.actions; ++k) slopes[k * kScoreTileRows + i] = 0;
  }
}

/// Adds what a panel of actions and a tile of rows give to all gradients.
void add_products(const TileContexts& contexts, const ScoreTile& panel, std::int64_t width,
                  std::span<const TiledFactor> factors) {
  alignas(kColumnAlignment) double room[kPanelWidth * kScoreTileRows];
  alignas(kColumnAlignment) double scaled[kPanelWidth * kScoreTileRows] = {};
  for (std::int64_t first = 0; first < width; first += kPanelWidth) {
    const int count = static_cast<int>(std::min<std::int64_t>(kPanelWidth, width - first));
    const double* columns = contexts.columns(first, count, room);
    for (const TiledFactor& one : factors) {
      fill_panel(columns, panel.rows, count, panel.rows, one.factor + panel.first_row, scaled);
      add_tile_products({.slopes = panel.scores,
                         .stride = kScoreTileRows,
                         .outputs = panel.actions,
                         .rows = panel.rows,
                         .panel = scaled,
                         .columns = count,
                         .out = one.gradient + panel.first_action * width + first,
                         .out_stride = width});
    }
  }
}

/// Calls add(tile) with all tiles of a block; rows whose contexts lie row by row and are not finite become NaN.
template <class Add>
void sum_tiles(const ScoreMatrix& matrix, const Block& block, TileStates& states, double* out, Add add) {
  const int outputs = matrix.policy().outputs;
  alignas(kColumnAlignment) double scores[kScoreTileActions * kScoreTileRows];
  alignas(kColumnAlignment) double memory[TileContexts::kNumbers];
  TileContexts contexts(matrix, block, memory);
  bool plain[TileStates::kTiles], uncertain[TileStates::kTiles];
  const int panel = panel_actions(matrix.policy().row_length(), outputs + kScoreTileActions);
  for (int first_action = 0; first_action < outputs; first_action += panel) {
    const int end = std::min(first_action + panel, outputs);
    for (int t = 0; t * kScoreTileRows < block.rows; ++t) {
      ScoreTile tile{.scores = scores, .first_row = t * kScoreTileRows, .state = states.of(t)};
      tile.rows = score_tile_rows(tile.first_row, block.rows);
      if (first_action > 0 && uncertain[t]) continue;
      contexts.gather(tile.first_row, tile.rows);
      if (first_action == 0) {
        const double bound = contexts.score_bound();
        // One less than the limit: sums of features round.
        plain[t] = bound <= kPlainScore - 1;
        uncertain[t] = block.context_by_row != nullptr && !std::isfinite(bound);
        if (uncertain[t]) {
          std::fill_n(out + tile.first_row, tile.rows, std::numeric_limits<double>::quiet_NaN());
          continue;
        }
      }
      tile.plain = plain[t];
      for (tile.first_action = first_action; tile.first_action < end; tile.first_action += kScoreTileActions) {
        tile.actions = std::min(kScoreTileActions, end - tile.first_action);
        contexts.scores(tile.first_action, tile.actions, scores);
        add(tile);
      }
    }
  }
}

}  // namespace

bool has_tiles(const Policy& policy, const Block& block) {
  return policy_kind(policy.kind).add_tile != nullptr && block.replays == 1;
}

bool has_tiled_density(const Policy& policy, const Block& block) {
  return policy_kind(policy.kind).add_density_tile != nullptr && block.replays == 1;
}

void tiled_log_density(const ScoreMatrix& matrix, const Block& block, double* out) {
  TileStates states;
  const Policy& policy = matrix.policy();
  const auto add_tile = policy_kind(policy.kind).add_tile;
  sum_tiles(matrix, block, states, out, [&](const ScoreTile& tile) { add_tile(policy, block, tile, out); });
}

void tiled_density(const ScoreMatrix& matrix, const Block& block, double* out) {
  TileStates states;
  const Policy& policy = matrix.policy();
  const auto add_tile = policy_kind(policy.kind).add_density_tile;
  sum_tiles(matrix, block, states, out, [&](const ScoreTile& tile) { add_tile(policy, block, tile, nullptr, out); });
}

void tiled_weights(const ScoreMatrix& matrix, const Block& block, TileStates& states, double* out) {
  const Policy& policy = matrix.policy();
  const PolicyKindDefinition& kind = policy_kind(policy.kind);
  if (block.propensity != nullptr && kind.add_density_tile != nullptr) {
    return sum_tiles(matrix, block, states, out,
                     [&](const ScoreTile& tile) { kind.add_density_tile(policy, block, tile, block.propensity, out); });
  }
  sum_tiles(matrix, block, states, out, [&](const ScoreTile& tile) { kind.add_tile(policy, block, tile, out); });
  weights_from_log_density(block, out, out);
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

void tiled_gradient(const ScoreMatrix& matrix, const Block& block, TileStates& states,
                    std::span<const TiledFactor> factors, PolicyScratch& scratch) {
  const Policy& policy = matrix.policy();
  const std::int64_t width = policy.row_length();
  for (const TiledFactor& one : factors) std::fill_n(one.gradient, policy.theta.size(), 0.0);
  double* slopes = scratch.columns(kScoresSlot, kTiledGradientColumns);
  double* tile_contexts = slopes + kMostPanelActions * kScoreTileRows;
  TileContexts contexts(matrix, block, tile_contexts);
  const CountedRows counted(block, matrix.has_context_tiles(), states, factors, tile_contexts + TileContexts::kNumbers);
  const Block& rows = counted.rows();
  const int most = panel_actions((1 + static_cast<std::int64_t>(factors.size())) * width, kMostPanelActions);
  for (int first_action = 0; first_action < policy.outputs; first_action += most) {
    for (int t = 0; t * kScoreTileRows < rows.rows; ++t) {
      ScoreTile panel{.scores = slopes, .first_row = t * kScoreTileRows, .first_action = first_action};
      panel.rows = score_tile_rows(panel.first_row, rows.rows);
      panel.actions = std::min(most, policy.outputs - first_action);
      panel.state = counted.state(t);
      contexts.gather(counted, panel.first_row, panel.rows);
      ScoreTile tile = panel;
      for (int done = 0; done < panel.actions; done += kScoreTileActions) {
        double* scores = slopes + done * kScoreTileRows;
        tile.scores = scores;
        tile.first_action = first_action + done;
        tile.actions = std::min(kScoreTileActions, panel.actions - done);
        contexts.scores(tile.first_action, tile.actions, scores);
        policy_kind(policy.kind).tile_gradient(policy, rows, tile, scores);
      }
      clear_uncounted(panel, counted.factors(), slopes);
      add_products(contexts, panel, width, counted.factors());
    }
  }
}

}  // namespace scrm
