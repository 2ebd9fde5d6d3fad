/// How far the values of an estimator over many logs are from a truth that is known.
#pragma once

#include <vector>

namespace scrm {

/// An average over logs, and its Monte-Carlo standard error (NaN for one log).
struct MonteCarlo {
  double mean = 0, error = 0;
};

MonteCarlo average(const std::vector<double>& values);

struct EstimateErrors {
  MonteCarlo bias, variance, squared_error;
};

/// Of the values of one estimator, one a log.
EstimateErrors errors_of(const std::vector<double>& values, double truth);

}  // namespace scrm
