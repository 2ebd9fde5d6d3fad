/// EstimatorArchive: how far estimators were from the truth in a study, as one columnar HDF5 file.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace scrm {

/// One estimator on the logs of one design and size. Errors of averages are Monte-Carlo standard errors. Numbers are
/// NaN where no log gave a value.
struct EstimatorRecord {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string design;
  std::int64_t rows = 0;  ///< in each log
  std::string estimator;
  std::int64_t logs = 0;       ///< that gave a value
  std::int64_t undefined = 0;  ///< that gave none
  double truth = kNone;        ///< expected loss of the target policy
  double bias = kNone, bias_error = kNone;
  double variance = kNone, variance_error = kNone;
  double mse = kNone, mse_error = kNone;
};

struct EstimatorArchive {
  std::int64_t seed = 0;
  std::string version;  ///< of the program
  std::vector<EstimatorRecord> records;
};

/// Writes study/{design, rows, estimator, logs, undefined, truth, bias, bias_error, variance, variance_error, mse,
/// mse_error}, one row a record, and the attributes seed and version of the root. The file appears under its name when
/// it is complete; the same content gives the same bytes.
void write_estimator_archive(const std::string& path, const EstimatorArchive& archive);

}  // namespace scrm
