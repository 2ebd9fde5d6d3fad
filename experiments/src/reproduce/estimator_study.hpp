/// EstimatorStudy: what estimators make of many logs whose truth is known in closed form (figure 3).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "study/monte_carlo.hpp"

namespace scrm {

/// One estimator on the logs of one target policy.
struct StudiedEstimate {
  std::string estimator;
  int target = 0;  ///< i of N(iπ/4, 1)
  double truth = 0;
  MonteCarlo bias, variance, squared_error;
  std::int64_t undefined = 0;  ///< logs on which it has no value
};

struct EstimatorStudy {
  std::int64_t logs = 0, rows = 0;
  std::vector<StudiedEstimate> estimates;  ///< by target, then by estimator
  std::vector<MonteCarlo> mean_weight;     ///< of each target
};

inline constexpr int kStudyTargets = 5;

/// Section 8's design: losses cos(a), logs of N(0, 1), targets N(iπ/4, 1), whose value is e^{−1/2} cos(iπ/4). Every
/// estimator that applies and is evaluated by default, those among them that need a model with a ridge regression on
/// (1, a, a²). The same numbers on any number of threads.
EstimatorStudy study_estimators(std::int64_t logs, std::int64_t rows, int threads,
                                const std::function<void(std::int64_t done, std::int64_t all)>& progress);

}  // namespace scrm
