/// Draws actions from a policy: what a deployment does.
#pragma once

#include "scrm/experiments/environment.hpp"
#include "scrm/io/block_buffer.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// Throws unless the policy can act on rows of this schema; `who` names the policy (its file) in the message.
void require_policy_fits(const Policy& policy, const Schema& schema, const std::string& who);

/// Draws an action for every row of the block that `buffer` holds, from the row's own stream, and writes it there.
/// `scores` is scratch for max(1, outputs) columns. With `float32`, continuous actions are rounded to float.
void sample_actions(const Policy& policy, const Deployment& deployment, const Block& block, bool float32,
                    double* scores, BlockBuffer& buffer) noexcept;

}  // namespace scrm
