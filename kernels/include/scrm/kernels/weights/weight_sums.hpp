/// WeightSums: everything the estimators need to know about a policy's weights, in one fused loop over a block.
#pragma once

#include <array>
#include <cstdint>

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// The rows with the largest weights, in descending order (ties: the earlier row first). Kept apart from the sums:
/// `clipped` with automatic M needs the fifth-largest weight of all rows, and rows above it must be clipped after the
/// fact without subtracting large numbers from each other.
struct TopRows {
  static constexpr int kSize = 5;
  struct Entry {
    double weight = 0;
    double loss = 0;
    std::int64_t row = 0;
  };
  std::array<Entry, kSize> entries{};
  int count = 0;
};

/// How weights are clipped and shrunk, and what is summed.
struct WeightOptions {
  double alpha = 0;    ///< α of ips-ix
  double clip = 0;     ///< M of clipped; 0 for automatic, when no sums of its own are needed
  bool ranges = true;  ///< whether lowest and highest are wanted: they double the cost of the sums
};

/// Sums over the rows outside `top`, with w the weight, y the loss. Mergeable; a fixed order gives fixed bits.
struct WeightSums {
  Moments weight;                ///< w
  Moments ips;                   ///< w y
  Moments clipped;               ///< min(w, M) y, when M is given
  Moments ix;                    ///< w y / (1 + α w)
  SquareWeightedMoments square;  ///< w² and y, for the variance of snips
  TopRows top;
};

/// Sums over one block. `weights` has room for kBlockRows numbers; those of the top rows, and of the padding up to a
/// whole group of rows, are −1 afterwards.
void compute_weight_sums(const Block& block, double* weights, const WeightOptions& options, WeightSums& out) noexcept;

/// Merges the sums of later rows into those of earlier ones.
void merge_weight_sums(WeightSums& earlier, const WeightSums& later, const WeightOptions& options) noexcept;

/// Adds one row to all moments, as the rows of `top` are at the end.
void add_row(WeightSums& sums, double weight, double loss, const WeightOptions& options) noexcept;

/// Mean, square sum and range of a column, which need not be aligned.
Moments column_moments(const double* values, int rows) noexcept;

/// Moments of the pair u = y + (y − centre) S (a) and S (b) of the additive estimator. The centre is a loss near the
/// mean, so that the terms t = y + (y − ȳ) S follow by a small shift: from plain y S they would be small differences of
/// large numbers wherever losses lie far from zero.
struct AdditiveSums {
  PairMoments pair;
  double centre = 0;

  /// The same rows around another centre: u + (old − new) S. Ranges become bounds.
  void recentre(double to) noexcept;
  void merge(AdditiveSums later) noexcept;
};

/// Sums over one block, around `centre`; `excess` is S of every row.
AdditiveSums additive_sums(const Block& block, const double* excess, double centre) noexcept;

/// The same for the difference of two policies, (y − centre) S and S: `excess` is S of one minus S of the other, or S
/// alone where the other is the logged actions.
AdditiveSums additive_difference_sums(const Block& block, const double* excess, double centre) noexcept;

}  // namespace scrm
