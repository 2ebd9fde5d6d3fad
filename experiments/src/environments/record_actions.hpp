/// What a deployment does to a block of contexts: draws actions and records how likely they were.
#pragma once

#include <string>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/experiments/environment.hpp"
#include "scrm/io/shard/block_buffer.hpp"

namespace scrm {

/// A policy that draws actions, and the random stream it draws from.
struct ActionSampler {
  const Policy& policy;
  const TargetPolicy& target;  ///< the same policy, made ready for these rows
  RolloutKey rollout_key;
  bool float32 = false;             ///< continuous actions are rounded to float
  const double* normals = nullptr;  ///< the draws behind continuous actions, where they are known
};

/// Columns of kBlockRows that one thread lends.
struct SamplerScratch {
  PolicyScratch& policy;
  double* scores;  ///< sampling_columns of them; where rows share contexts, as many as there are actions or labels
  double* log_density;
};

/// Columns of scores that drawing actions takes for rows that share no contexts: where a kind of policy draws from
/// tiles, those of a few rows, however many actions there are.
std::int64_t sampling_columns(const Policy& policy);

/// Fills action, propensity and, where the buffer's schema has it, label_propensity. `block` views the context and the
/// buffer's columns. Propensities are, to the bit, what evaluating the same policy divides by: its weights are then
/// exactly 1.
void record_actions(const ActionSampler& sampler, const Block& block, const SamplerScratch& scratch,
                    BlockBuffer& buffer);

/// The same without the drawing: how likely the actions are that the block holds already.
void record_propensities(const ActionSampler& sampler, const Block& block, const SamplerScratch& scratch,
                         BlockBuffer& buffer);

/// The propensities of actions that could not have been others: 1, of every bit too.
void record_unit_propensities(const Block& block, BlockBuffer& buffer);

/// Throws when a row has an action, propensity or (where there is one) loss that no reader would accept.
void require_loggable(const Block& block, const std::string& policy_name);

}  // namespace scrm
