/// Logs of a study as jobs: a few logs each, on all cores, within the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/schedule/scheduler.hpp"
#include "study/designs/design.hpp"

namespace scrm {

/// Logs [first, last).
struct LogRange {
  std::int64_t first = 0, last = 0;
};

/// The logs of one design and size.
struct LogJobs {
  const StudyDesign& design;
  std::int64_t rows = 0, logs = 0;
  std::size_t bytes = 0;  ///< that one job holds
};

/// How many logs a job takes: enough to be worth one, and few enough that no study has more than this many jobs for a
/// size. A function of the study alone, because what jobs find is merged job by job.
std::int64_t chunk_logs(std::int64_t rows, std::int64_t logs);

/// A usage Error unless there are logs, and rows in each.
void require_log_counts(std::int64_t logs, const std::vector<std::int64_t>& rows);

/// Adds jobs that call run(chunk, range, stop) for every chunk_logs logs.
void add_log_jobs(const LogJobs& logs, std::vector<Job>& jobs,
                  const std::function<void(std::size_t chunk, LogRange range, const StopToken& stop)>& run);

/// Runs them; what one log meets, all would: the first failure ends the study. Progress is in rows.
void run_log_jobs(std::vector<Job> jobs, int threads, std::size_t memory, const Progress& progress);

}  // namespace scrm
