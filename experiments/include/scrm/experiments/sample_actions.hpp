/// Draws actions from a policy: what a deployment does.
#pragma once

#include "scrm/experiments/environment.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// Draws an action for every row of the block, each from the row's own stream, into `buffer`. `scores` are as
/// TargetPolicy::scores gives them. With `float32`, continuous actions are rounded to float. `normals`, where given,
/// are the first standard normal draws of these streams, for kinds of policy that need nothing else.
void sample_actions(const Policy& policy, const RolloutKey& rollout_key, const Block& block, const double* scores,
                    bool float32, BlockBuffer& buffer, const double* normals = nullptr);

}  // namespace scrm
