/// RunGroup: runs of a sweep that are done in one go, since they share their logs and their passes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sweep/plan.hpp"

namespace scrm {

struct RunGroup {
  std::size_t experiment = 0;
  std::int64_t seed = 0;
  std::vector<std::size_t> runs;  ///< indices of the plan
  std::size_t problem = 0;        ///< the same number for all that have environment and seed in common
  double cost = 0;                ///< as bytes that are gone through; by what the runs are alone, not by the machine
  std::size_t memory = 0;
  std::size_t rows_memory = 0;  ///< for holding rows; beyond it they are made anew
  std::string hint = {};        ///< what else to do where the memory is too much
};

/// The runs of the plan that have data and that are wanted, by their index, in groups; those of one problem side by
/// side, so that it is made once. `memory` (0: no limit) and `threads` are those of the sweep.
std::vector<RunGroup> group_runs(const SweepPlan& plan, const std::function<bool(std::size_t)>& wanted,
                                 std::size_t memory, int threads);

}  // namespace scrm
