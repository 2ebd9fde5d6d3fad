#include "environments/record_actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/experiments/sample_actions.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

/// The scores of all actions for a few rows at a time.
void sample_in_tiles(const ActionSampler& sampler, const Block& block, double* scores, BlockBuffer& buffer) {
  const Policy& policy = sampler.policy;
  const auto sample_tile = policy_kind(policy.kind).sample_tile;
  ScoreTile all{.scores = scores, .actions = policy.outputs};
  for (all.first_row = 0; all.first_row < block.rows; all.first_row += kScoreTileRows) {
    all.rows = score_tile_rows(all.first_row, block.rows);
    sampler.target.tile_scores(block, {all.first_row, all.rows, 0, all.actions, scores, all.stride});
    for (int row = all.first_row; row < std::min(all.first_row + all.rows, block.rows); ++row) {
      RandomStream random = row_stream(sampler.rollout_key, StreamPurpose::action, block.first_row + row);
      sample_tile(policy, block, all, row, random, buffer);
    }
  }
}

}  // namespace

std::int64_t sampling_columns(const Policy& policy) {
  const PolicyKindDefinition& kind = policy_kind(policy.kind);
  if (kind.format.theta == ThetaRows::none) return 0;
  constexpr std::int64_t kTilesOfColumn = kBlockRows / kScoreTileRows;
  return kind.sample_tile != nullptr ? (policy.outputs + kTilesOfColumn - 1) / kTilesOfColumn : policy.outputs;
}

void record_actions(const ActionSampler& sampler, const Block& block, const SamplerScratch& scratch,
                    BlockBuffer& buffer) {
  if (policy_kind(sampler.policy.kind).sample_tile != nullptr && sampler.target.has_tile_scores(block)) {
    sample_in_tiles(sampler, block, scratch.scores, buffer);
    return record_propensities(sampler, block, scratch, buffer);
  }
  sampler.target.scores(block, scratch.policy, scratch.scores);
  sample_actions(sampler.policy, sampler.rollout_key, block, scratch.scores, sampler.float32, buffer, sampler.normals);
  record_propensities(sampler, block, scratch, buffer);
}

void record_propensities(const ActionSampler& sampler, const Block& block, const SamplerScratch& scratch,
                         BlockBuffer& buffer) {
  const Schema& schema = buffer.schema();
  double* density = scratch.log_density;
  if (schema.propensity == PropensityForm::linear) {
    sampler.target.density(block, scratch.policy, density);
  } else {
    sampler.target.log_density(block, scratch.policy, density);
  }
  std::copy_n(density, block.rows, buffer.propensity());
  if (schema.label_propensity) sampler.target.label_probability(block, scratch.policy, buffer.label_propensity());
}

void record_unit_propensities(const Block& block, BlockBuffer& buffer) {
  std::fill_n(buffer.propensity(), block.rows, buffer.schema().propensity == PropensityForm::linear ? 1.0 : 0.0);
  if (!buffer.schema().label_propensity) return;
  for (int k = 0; k < block.num_actions; ++k) {
    std::fill_n(buffer.label_propensity() + static_cast<std::int64_t>(k) * kBlockRows, block.rows, 1.0);
  }
}

void require_loggable(const Block& block, const std::string& policy_name) {
  for (int i = 0; i < block.rows; ++i) {
    const bool linear = block.propensity != nullptr;
    const double propensity = linear ? block.propensity[i] : block.log_propensity[i];
    const bool action_fine = block.action == nullptr || std::isfinite(block.action[i]);
    const bool propensity_fine = std::isfinite(propensity) && (propensity > 0 || !linear);
    const bool loss_fine = block.loss == nullptr || std::isfinite(block.loss[i]);
    if (action_fine && propensity_fine && loss_fine) continue;
    std::string row = block.action != nullptr     ? fmt::format("action {}, ", block.action[i])
                      : block.category != nullptr ? fmt::format("action {}, ", block.category[i])
                                                  : "";
    row += fmt::format("{} {}", linear ? "propensity" : "log_propensity", propensity);
    if (block.loss != nullptr) row += fmt::format(", loss {}", block.loss[i]);
    throw Error(
        ErrorKind::run,
        fmt::format("the policy gives a row that cannot be logged: {}; its parameters or the context are too large",
                    row),
        {.file = policy_name, .row = block.first_row + i});
  }
}

}  // namespace scrm
