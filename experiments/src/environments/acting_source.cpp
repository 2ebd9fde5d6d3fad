#include "scrm/experiments/acting_source.hpp"

#include <algorithm>
#include <numeric>

#include "environments/record_actions.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/io/shard/audit.hpp"

namespace scrm {
namespace {

constexpr double kDecided = 0.99;

/// The columns that acting adds, without the context.
Schema added_columns(const Schema& schema) {
  Schema added = schema;
  added.features = 0;
  added.sparse = false;
  return added;
}

}  // namespace

bool says_its_actions(const Policy& policy) {
  const PolicyKindDefinition& kind = policy_kind(policy.kind);
  return kind.format.theta == ThetaRows::per_action || kind.actions.front() == ActionKind::continuous;
}

Schema acted_schema(const Policy& policy, const Schema& contexts, ActionKind action_kind, int num_actions) {
  Schema schema;
  schema.stage = RowStage::acted;
  schema.features = contexts.features;
  schema.sparse = contexts.sparse;
  schema.context_type = contexts.context_type;
  schema.context_columns = contexts.context_columns;
  schema.outcome = contexts.outcome;
  const PolicyKindDefinition& kind = policy_kind(policy.kind);
  schema.action_kind = kind.actions.size() == 1 ? kind.actions.front() : action_kind;
  if (schema.action_kind != ActionKind::continuous) {
    schema.num_actions = says_its_actions(policy) ? policy.outputs : num_actions;
    if (policy.actions.size() == static_cast<std::size_t>(schema.num_actions)) schema.action_names = policy.actions;
  }
  if (schema.action_kind == ActionKind::multilabel) {
    const bool joint = kind.format.mixing && policy.mixing == Mixing::joint && policy.epsilon > 0;
    schema.propensity = PropensityForm::logarithm;
    schema.label_propensity = kind.label_probability != nullptr && !joint;
  }
  return schema;
}

struct ActingSource::Group final : BlockGroup {
  std::shared_ptr<BlockGroup> inner;
};

struct ActingSource::Loader final : BlockLoader {
  Loader(std::unique_ptr<BlockLoader> contexts, const Schema& schema)
      : inner(std::move(contexts)), buffer(added_columns(schema)) {}

  std::unique_ptr<BlockLoader> inner;
  BlockBuffer buffer;
  PolicyScratch memory;
  PolicyScratch policy;
};

ActingSource::ActingSource(Source& contexts, const Schema& schema, const Policy& policy, const std::string& policy_name,
                           const RolloutKey& rollout_key)
    : contexts_(contexts),
      schema_(schema),
      policy_(policy),
      policy_name_(policy_name),
      rollout_key_(rollout_key),
      target_(make_target_policy(policy, schema, policy_name)),
      block_totals_(static_cast<std::size_t>(contexts.blocks())),
      counts_(static_cast<std::size_t>(schema.num_actions)) {}

std::size_t ActingSource::group_bytes() const {
  // Loaders do not count the entries of sparse contexts, and whoever writes them holds them once more.
  return contexts_.group_bytes() * (schema_.sparse ? 2 : 1);
}

std::size_t ActingSource::loader_bytes() const {
  const auto columns = static_cast<std::size_t>(sampling_columns(policy_) + 1);
  return contexts_.loader_bytes() + block_buffer_bytes(added_columns(schema_)) + columns * kBlockRows * sizeof(double) +
         target_->scratch_bytes();
}

std::unique_ptr<BlockLoader> ActingSource::make_loader() const {
  return std::make_unique<Loader>(contexts_.make_loader(), schema_);
}

std::unique_ptr<BlockGroup> ActingSource::fetch(std::int64_t first_block, int count) {
  auto group = std::make_unique<Group>();
  if (count == 1 && first_block == last_index_) {
    group->inner = last_block_;
    return group;
  }
  group->inner = contexts_.fetch(first_block, count);
  last_block_ = count == 1 ? group->inner : nullptr;
  last_index_ = count == 1 ? first_block : -1;
  return group;
}

Block ActingSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit&) const {
  auto& own = static_cast<Loader&>(loader);
  Audit bad;
  const Block context = contexts_.load(*static_cast<Group&>(group).inner, index, *own.inner, bad);
  require_no_bad_rows(bad, false);

  Block block = own.buffer.view(context.first_row, context.rows);
  block.features = context.features;
  block.context_type = context.context_type;
  block.context = context.context;
  block.sparse = context.sparse;
  double* columns = own.memory.columns(0, sampling_columns(policy_) + 1);
  record_actions({policy_, *target_, rollout_key_}, block, {own.policy, columns + kBlockRows, columns}, own.buffer);
  require_loggable(block, policy_name_);
  count(index, block);
  return block;
}

void ActingSource::count(std::int64_t index, const Block& block) const {
  std::vector<std::int64_t> counts(counts_.size());
  double sum = 0;
  if (block.action != nullptr) sum = std::accumulate(block.action, block.action + block.rows, 0.0);
  if (block.category != nullptr) {
    for (int i = 0; i < block.rows; ++i) ++counts[static_cast<std::size_t>(block.category[i])];
  }
  if (block.bits != nullptr) {
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const std::uint8_t* column = block.bits + k * kBlockRows;
      counts[k] = std::accumulate(column, column + block.rows, std::int64_t{0});
    }
  }
  std::int64_t decided = 0;
  const auto count_decided = [&](const double* probability) {
    decided += std::count_if(probability, probability + block.rows, [](double p) { return p > kDecided; });
  };
  if (block.category != nullptr) count_decided(block.propensity);
  for (int k = 0; block.label_propensity != nullptr && k < block.num_actions; ++k)
    count_decided(block.label_propensity + k * kBlockRows);
  const std::lock_guard lock(totals_mutex_);
  BlockTotal& total = block_totals_[static_cast<std::size_t>(index)];
  if (total.rows >= 0) return;  // a block that the border of two shards cuts is loaded for both
  total = {block.rows, sum, decided};
  std::transform(counts.begin(), counts.end(), counts_.begin(), counts_.begin(), std::plus<>());
}

ActionTotals ActingSource::totals() const {
  const std::lock_guard lock(totals_mutex_);
  ActionTotals totals{.counts = counts_};
  for (const BlockTotal& block : block_totals_) {
    totals.rows += std::max(0, block.rows);
    totals.sum += block.sum;
    totals.decided += block.decided;
  }
  return totals;
}

}  // namespace scrm
