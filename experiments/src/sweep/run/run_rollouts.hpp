/// run_rollouts: the one loop of all methods: log, learn, test, and again.
#pragma once

#include <functional>
#include <vector>

#include "scrm/experiments/method.hpp"
#include "scrm/io/archive/run_record.hpp"

namespace scrm {

/// Told after every rollout: how many are done, and rows read since the last call.
using RolloutProgress = std::function<void(int done, double rows_read)>;

/// Runs a method on a problem. One record for each run of the setup, in its order, with what came of it filled
/// in: loss, rows, regret, theta, final_loss, numbers and curves.
std::vector<RunRecord> run_rollouts(const MethodEntry& method, const LearnerSetup& setup,
                                    const RolloutProgress& progress);

}  // namespace scrm
