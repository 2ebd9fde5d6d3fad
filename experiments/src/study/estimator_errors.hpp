/// run_estimator_study: bias, variance and mean squared error of every estimator, over many logs of designs whose truth
/// is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/io/archive/estimator_archive.hpp"
#include "study/design.hpp"

namespace scrm {

struct EstimatorStudyOptions {
  std::vector<const StudyDesign*> designs;
  std::vector<std::int64_t> rows = {};  ///< empty: those of each design
  std::int64_t logs = 200;              ///< of each design and size
  std::uint64_t seed = 0;
  int threads = 0;         ///< logs at a time; 0: all cores
  std::size_t memory = 0;  ///< bytes for all logs that are held at a time; 0: no limit
  Progress progress = {};  ///< in rows drawn
};

/// Records by design, rows and estimator. Estimators are all that apply to a design's logs, those that are not
/// evaluated by default among them; the model of those that need one is a ridge regression, cross-fitted anew on every
/// log. Each log is drawn, evaluated by one thread and dropped. The same bits at any number of threads.
std::vector<EstimatorRecord> run_estimator_study(const EstimatorStudyOptions& options);

}  // namespace scrm
