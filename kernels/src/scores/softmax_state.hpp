/// SoftmaxState: the columns of a ScoreTile's state as a softmax over many tiles uses them.
#pragma once

#include "scrm/kernels/scores/score_tile.hpp"

namespace scrm {

struct SoftmaxState {
  explicit SoftmaxState(const ScoreTile& tile) noexcept
      : shift(tile.state), sum(tile.state + kScoreTileRows), chosen(tile.state + 2 * kScoreTileRows) {}

  double* shift;   ///< what is taken from scores before they are exponentiated: softmax_shift of the largest so far
  double* sum;     ///< Σ exp(score − shift)
  double* chosen;  ///< the logged action's score
};

/// The logged actions' log-probabilities without mixing, of rows whose actions are all summed: a row of the tile for
/// each of `out`.
void finish_softmax(const ScoreTile& tile, double* out) noexcept;

}  // namespace scrm
