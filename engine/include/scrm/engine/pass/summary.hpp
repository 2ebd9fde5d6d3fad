/// Summary: what the rows of a source hold, in one pass: ranges, counts, and the shape of the propensities.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// Sample standard deviation; 0 below two values.
double sample_sd(const Moments& moments) noexcept;
/// How many standard errors the mean is away from a value; 0 below two values, without spread, or when rounding alone
/// keeps them apart.
double z_score(const Moments& moments, double value) noexcept;
/// Whether propensities recorded with three or four digits (0.333 for a third) can explain that weights average this
/// and not 1: with many rows even that is many standard errors, and no sign of wrong propensities.
bool rounds_to_one(double mean_weight) noexcept;

/// Whether the values are not all zero, but so small that their squares lose digits or are zero.
bool squares_vanish(const Moments& values) noexcept;

/// Counts of propensities between round numbers: bin edges 1, 2 and 5 times each power of ten, what lies outside in the
/// first and the last bin.
struct PropensityHistogram {
  static constexpr int kLowestPower = -30;
  static constexpr int kHighestPower = 9;
  static constexpr int kBins = 3 * (kHighestPower - kLowestPower + 1) + 2;

  std::array<std::int64_t, kBins> counts{};

  /// Lower edge of a bin; 0 for the first. Bin b ends where bin b + 1 begins; the last has no end.
  static double lower_edge(int bin) noexcept;
  void add(double propensity) noexcept;
  void merge(const PropensityHistogram& later) noexcept;
};

struct Summary {
  std::int64_t rows = 0;  ///< valid ones
  Moments loss;
  Moments propensity;
  Moments log_propensity;
  PropensityHistogram histogram;
  Moments action;                           ///< continuous
  std::vector<std::int64_t> action_counts;  ///< rows by category, or rows in which each label is set
  std::vector<Moments> features;            ///< dense contexts
  Moments entries_per_row;                  ///< sparse contexts
  Moments entries;                          ///< sparse contexts: the values that are present
  std::vector<Moments> target_weights;      ///< target / propensity, one for each target column
  /// Weight of the uniform policy, 1 on average when propensities are right and every action has some: 1/(K p) for
  /// categorical actions. Empty for the others.
  Moments uniform_weight;

  void transfer(ByteStream& bytes);
};

/// Runs the pass. Rows that fail the audit are left out of the summary and counted in the audit.
std::pair<Summary, Audit> summarize(Source& source, const PassOptions& options);

}  // namespace scrm
