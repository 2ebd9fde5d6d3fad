/// Tally: what the logs of a study add up to for one estimator and one kind of interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/io/archive/coverage_archive.hpp"

namespace scrm {

struct Tally {
  std::int64_t logs = 0;
  std::int64_t covered = 0, below = 0, above = 0;  ///< of the intervals
  std::int64_t warned = 0;      ///< logs with a warning about this estimate, or about all of its policy
  std::int64_t warned_any = 0;  ///< with any, about other estimates of the same log too
  std::int64_t warned_ess = 0;  ///< of these, those only warned that the effective sample size is below 1 %
  std::int64_t refused = 0;     ///< logs on which the evaluation threw
  std::string message;          ///< of the first of them
  // Over logs that have this interval and the normal one.
  std::int64_t compared = 0, equal = 0;
  double width = 0, normal_width = 0;
  std::vector<double> ratios;  ///< of the two, where the normal interval has a width

  void add(const Estimate& estimate, const Estimate* normal, double truth, const Diagnostics& diagnostics);
  void add_refusal(const std::string& why);
  /// Adds the tally of later logs. Sums are rounded: the order is part of the bits.
  void merge(const Tally& later);

  /// The shares; names and rows are the caller's.
  CoverageRecord record() const;
};

}  // namespace scrm
