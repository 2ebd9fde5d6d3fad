/// run_coverage_study: how often intervals hold the truth, over many logs of designs whose truth is known.
#pragma once

#include <vector>

#include "scrm/engine/estimate/interval.hpp"
#include "scrm/io/archive/coverage_archive.hpp"
#include "study/study_options.hpp"

namespace scrm {

struct CoverageOptions : StudyOptions {
  CoverageOptions() { logs = 1000; }

  std::vector<IntervalKind> intervals;
  double level = 0.95;
};

/// Records by design, rows, estimator and interval, in the order of the options. Each log is drawn, evaluated by one
/// thread once for each kind of interval, and dropped. The same bits at any number of threads. A kind whose evaluation
/// throws on every log does not apply: its record has no logs, and the first message.
std::vector<CoverageRecord> run_coverage_study(const CoverageOptions& options);

}  // namespace scrm
