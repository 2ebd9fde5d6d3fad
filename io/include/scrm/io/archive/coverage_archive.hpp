/// CoverageArchive: what a study of confidence intervals found, as one columnar HDF5 file.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace scrm {

/// How often one kind of interval covered the truth. Shares are NaN where no log had an interval.
struct CoverageRecord {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string design;
  std::int64_t rows = 0;  ///< in each log
  std::string estimator;  ///< "-difference" behind the name: of the difference to the logged actions
  std::string interval;

  std::int64_t logs = 0;          ///< evaluated; 0 where the interval does not apply
  double coverage = kNone;        ///< share of the intervals that held the truth
  double coverage_error = kNone;  ///< its Monte-Carlo standard error √(c (1 − c) / intervals)
  double below = kNone;           ///< share of the intervals that ended below the truth
  double above = kNone;           ///< share of the intervals that began above it
  double relative_width = kNone;  ///< mean width over that of the normal interval, on logs that have both
  double median_width = kNone;    ///< median over these logs of its width over that of the normal interval
  double equals_normal = kNone;   ///< share of these logs on which it is the normal interval itself
  double warned = kNone;          ///< share of the logs with a warning about this estimate, or about all of them
  double warned_any = kNone;      ///< share of the logs with any warning
  double warned_ess = kNone;      ///< share of the logs whose only warning is an effective sample size below 1 %
  double without = kNone;         ///< share of the logs without an interval
  std::string message;            ///< why the interval does not apply
};

struct CoverageArchive {
  std::int64_t seed = 0;
  double level = 0;
  std::string version;  ///< of the program
  std::vector<CoverageRecord> records;
};

/// Writes study/{design, rows, estimator, interval, coverage, coverage_error, below, above, relative_width,
/// median_width, equals_normal, warned, warned_any, warned_ess, without, logs, message}, one row a record, and the
/// attributes seed, level and version of the root. The file appears under its name when it is complete; the same
/// content gives the same bytes.
void write_coverage_archive(const std::string& path, const CoverageArchive& archive);

}  // namespace scrm
