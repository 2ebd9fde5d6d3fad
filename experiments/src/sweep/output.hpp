/// The archive that a sweep ends in: whether it can be written, and writing it.
#pragma once

#include <string>
#include <vector>

#include "scrm/experiments/sweep.hpp"
#include "scrm/io/archive/run_record.hpp"
#include "sweep/plan.hpp"

namespace scrm {

/// Fails now where writing the archive would fail after hours of work.
void validate_output(const SweepPlan& plan, const SweepFile& file, const SweepOptions& options,
                     const std::string& journal);

/// Writes the runs, and what they were run with.
void write_output(const SweepPlan& plan, const SweepFile& file, const SweepOptions& options,
                  const std::vector<RunRecord>& runs);

}  // namespace scrm
