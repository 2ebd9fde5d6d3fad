/// DifferenceSums: what the estimators need to know about a policy minus a baseline, row by row, in one loop.
#pragma once

#include <array>
#include <cstdint>

#include "scrm/kernels/block.hpp"
#include "scrm/kernels/weights/moments.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {

/// A row under both policies. Where the baseline is the logged actions themselves, its weight is one.
struct PairedRow {
  double weight = 0;    ///< w, of the policy
  double baseline = 1;  ///< u, of the baseline
  double loss = 0;
  std::int64_t row = 0;
};

/// The rows of TopRows for the policy and, where it is a policy, for the baseline: each has its own automatic M.
struct HeldRows {
  static constexpr int kSize = 2 * TopRows::kSize;
  std::array<PairedRow, kSize> rows{};
  int count = 0;
};

/// Σ m, Σ m (y − centre) and Σ m (y − centre)² for multipliers m of either sign, which have no weighted mean.
struct SignedMoments {
  double total = 0, first = 0, second = 0;
  double centre = 0;

  void recentre(double to) noexcept;
  void merge(SignedMoments later) noexcept;
};

/// Sums over the rows outside `held`, with v = w − u. The logged actions have u = 1, and nothing clips or shrinks it.
/// Differences are formed row by row before they are summed, so that two policies that are nearly the same keep the
/// digits of their difference.
struct DifferenceSums {
  Moments ips;      ///< v y
  Moments clipped;  ///< (min(w, M) − min(u, M)) y, when M is given
  Moments ix;       ///< (w / (1 + α w) − u / (1 + α u)) y
  // For self-normalised estimators: v, and for their variance v², u v and u², each with y.
  SignedMoments difference;
  SquareWeightedMoments squared_difference;
  SignedMoments product;
  SquareWeightedMoments squared_baseline;
  HeldRows held;
};

/// Weights of the baseline on a block, and the largest of them.
struct BaselineWeights {
  const double* weights = nullptr;  ///< null: the logged actions
  TopRows top;
};

/// Sums over one block, after compute_weight_sums: `weights` as that left them, and the top rows it found.
void compute_difference_sums(const Block& block, double* weights, const TopRows& top, const BaselineWeights& baseline,
                             const WeightOptions& options, DifferenceSums& out) noexcept;

/// Merges the sums of later rows into those of earlier ones; `logged`: the baseline is the logged actions.
void merge_difference_sums(DifferenceSums& earlier, const DifferenceSums& later, const WeightOptions& options,
                           bool logged) noexcept;

/// M of either side; of the logged actions, none.
struct DifferenceClips {
  double weight = 0, baseline = 0;
};

/// t(w) y − t(u) y of one row for the transforms of DifferenceSums, each in a unit of its own.
struct DifferenceTerms {
  Moments ips, clipped, ix;
};
DifferenceTerms difference_terms(const PairedRow& row, double alpha, const DifferenceClips& clips,
                                 bool logged) noexcept;

}  // namespace scrm
