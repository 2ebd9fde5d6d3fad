/// Parts of a sweep: which runs each of several processes does, so that all parts take about as long.
#pragma once

#include <vector>

#include "scrm/experiments/sweep.hpp"
#include "sweep/plan.hpp"

namespace scrm {

/// Attributes of a part's archive, beside those of every archive: which part it is, and of which plan.
inline constexpr const char* kPartAttribute = "part";
inline constexpr const char* kPlanAttribute = "plan";
inline constexpr const char* kPlanRunsAttribute = "plan_runs";
/// The column of a part's archive that holds each run's place in the plan.
inline constexpr const char* kPlanIndex = "plan_index";

/// For every run of the plan whether it belongs to the part. Runs that share their logs stay together; the others are
/// dealt out by estimated cost, the dearest first, each to the part that has least. Depends on the plan alone, so that
/// processes on different machines agree.
std::vector<bool> runs_of_part(const SweepPlan& plan, const SweepPart& part);

}  // namespace scrm
