/// run_coverage_study: how often intervals hold the truth, over many logs of designs whose truth is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scrm/engine/estimate/interval.hpp"
#include "scrm/engine/pass/pass.hpp"
#include "scrm/io/archive/coverage_archive.hpp"
#include "study/design.hpp"

namespace scrm {

struct CoverageOptions {
  std::vector<const StudyDesign*> designs;
  std::vector<IntervalKind> intervals;
  std::vector<std::int64_t> rows = {};  ///< empty: those of each design
  std::int64_t logs = 1000;             ///< of each design and size
  double level = 0.95;
  std::uint64_t seed = 0;
  int threads = 0;         ///< logs at a time; 0: all cores
  std::size_t memory = 0;  ///< bytes for all logs that are held at a time; 0: no limit
  Progress progress = {};  ///< in rows drawn
};

/// Records by design, rows, estimator and interval, in the order of the options. Each log is drawn, evaluated by one
/// thread once for each kind of interval, and dropped. The same bits at any number of threads. A kind whose evaluation
/// throws on every log does not apply: its record has no logs, and the first message.
std::vector<CoverageRecord> run_coverage_study(const CoverageOptions& options);

}  // namespace scrm
