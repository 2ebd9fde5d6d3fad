#include <algorithm>
#include <memory>
#include <utility>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/io/file/fnv_hash.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "study/designs/design.hpp"

namespace scrm {
namespace {

/// What the random numbers of a log are for.
enum class Purpose : std::uint8_t { rows, bootstrap };

/// The stream of one log: design, size and purpose share the stream's number, and the log stands for its row.
RandomStream log_stream(const StudyDesign& design, const LogKey& key, Purpose purpose) {
  std::uint64_t hash = fnv_hash(design.name.data(), design.name.size());
  hash = fnv_hash(&key.rows, sizeof key.rows, hash);
  hash = fnv_hash(&purpose, sizeof purpose, hash);
  return {key.seed, static_cast<std::uint32_t>(hash ^ hash >> 32), static_cast<std::uint64_t>(key.log)};
}

Schema schema_of(const StudyDesign& design) {
  Schema schema;
  schema.action_kind = design.action_kind;
  schema.num_actions = design.num_actions;
  schema.features = design.features;
  schema.label_propensity = design.action_kind == ActionKind::multilabel;
  schema.cluster = design.clustered;
  if (!design.policy) schema.targets = {"policy"};
  return schema;
}

void store_row(const DrawnRow& row, int at, BlockBuffer& block) {
  const Schema& schema = block.schema();
  switch (schema.action_kind) {
    case ActionKind::continuous:
      block.action()[at] = row.action;
      break;
    case ActionKind::categorical:
      block.category()[at] = row.category;
      break;
    case ActionKind::multilabel:
      for (int k = 0; k < schema.num_actions; ++k) {
        block.bits()[k * kBlockRows + at] = row.bits[static_cast<std::size_t>(k)];
        block.label_propensity()[k * kBlockRows + at] = row.label_propensity[static_cast<std::size_t>(k)];
      }
      break;
  }
  for (std::int64_t j = 0; j < schema.features; ++j) block.context_f64()[j * kBlockRows + at] = row.context[j];
  block.loss()[at] = row.loss;
  block.propensity()[at] = row.propensity;
  if (schema.cluster) block.cluster()[at] = row.cluster;
  if (!schema.targets.empty()) block.target(0)[at] = row.target;
}

}  // namespace

DrawnLog draw_log(const StudyDesign& design, const LogKey& key) {
  const Schema schema = schema_of(design);
  DrawnLog log{MemorySource(schema), {"policy", nullptr}};
  log.policy.policy =
      design.policy ? make_target_policy(*design.policy, schema, design.name) : make_target_column_policy(0);
  RandomStream stream = log_stream(design, key, Purpose::rows);
  DrawnRow row;
  for (std::int64_t first = 0; first < key.rows; first += kBlockRows) {
    auto block = std::make_unique<BlockBuffer>(schema);
    const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, key.rows - first));
    for (int i = 0; i < count; ++i) {
      design.draw(stream, first + i, Actor::logging, row);
      store_row(row, i, *block);
    }
    log.source.append(std::move(block), count);
  }
  return log;
}

std::uint64_t bootstrap_seed(const StudyDesign& design, const LogKey& key) {
  return log_stream(design, key, Purpose::bootstrap).bits();
}

std::size_t log_bytes(const StudyDesign& design, std::int64_t rows) {
  const auto blocks = static_cast<std::size_t>((rows + kBlockRows - 1) / kBlockRows);
  return blocks * block_buffer_bytes(schema_of(design));
}

}  // namespace scrm
