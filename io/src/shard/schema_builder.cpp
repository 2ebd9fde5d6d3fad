#include "shard/schema_builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {

void SchemaBuilder::mismatch(const std::string& path, const std::string& dataset, const std::string& here,
                             const std::string& there) const {
  throw Error(ErrorKind::data, fmt::format("{}, but {} {}", here, first_path_, there),
              {.file = path, .dataset = dataset});
}

/// Logs of two days, one of which never took the last action, are likely of one policy and were counted apart.
void SchemaBuilder::fail_action_count(const std::string& path, const ShardHeader& header) const {
  const bool multilabel = header.action_kind == ActionKind::multilabel;
  const bool named = !header.action_names.empty() || !first_.action_names.empty();
  const std::string hint =
      multilabel ? ""
      : named    ? "; where both logs chose among the same actions, import both with one --encoding"
                 : fmt::format(
                       "; where both logs chose among the same actions, and one of them never took the last, "
                          "import it again with --num-actions {}, or all files in one `scrm import`",
                       std::max(header.num_actions, first_.num_actions));
  mismatch(path, multilabel ? "action" : "attribute num_actions", "has " + count_of(header.num_actions, "action"),
           fmt::format("has {}{}", first_.num_actions, hint));
}

void SchemaBuilder::check_against_first(const std::string& path, const ShardHeader& header) const {
  if (header.action_kind != first_.action_kind) {
    mismatch(path, "attribute action_kind", fmt::format("is {}", to_string(header.action_kind)),
             fmt::format("has {}", to_string(first_.action_kind)));
  }
  if (header.num_actions != first_.num_actions) {
    fail_action_count(path, header);
  }
  if (header.outcome.value_or(Outcome::loss) != first_.outcome.value_or(Outcome::loss) && !options_.reward) {
    mismatch(path, "attribute outcome", fmt::format("is {}", to_string(header.outcome.value_or(Outcome::loss))),
             fmt::format("holds {}", first_.outcome == Outcome::reward ? "rewards" : "losses"));
  }
  if (header.sparse != first_.sparse && header.features + first_.features > 0) {
    mismatch(path, "context", header.sparse ? "is sparse" : "is dense",
             first_.sparse ? "has a sparse one" : "has a dense one");
  }
  if (header.features != first_.features) {
    const auto has = [](const ShardHeader& shard) {
      return shard.features > 0 ? "has " + count_of(shard.features, "feature") : "has no context";
    };
    if (header.features == 0) mismatch(path, "", has(header), has(first_));
    mismatch(path, "context", has(header), first_.features > 0 ? fmt::format("has {}", first_.features) : has(first_));
  }
}

std::shared_ptr<const ColumnOrder> SchemaBuilder::match_columns(const std::string& path, const ShardHeader& header) {
  if (header.context_columns.empty()) {
    if (without_columns_.empty() && header.features > 0) without_columns_ = path;
    return nullptr;
  }
  if (columns_.empty()) {
    columns_ = header.context_columns;
    columns_path_ = path;
    return nullptr;
  }
  if (header.context_columns == columns_) return nullptr;
  const std::set<std::string> known(columns_.begin(), columns_.end());
  for (const std::string& name : header.context_columns) {
    if (known.contains(name)) continue;
    throw Error(ErrorKind::data,
                fmt::format("names a feature '{}', which {} does not have; it has {}", name, columns_path_,
                            fmt::join(columns_, ", ")),
                {.file = path, .dataset = "attribute context_columns"});
  }
  return column_order(header.context_columns, columns_);
}

void SchemaBuilder::match_actions(const std::string& path, const ShardHeader& header) {
  if (header.action_names.empty()) return;
  if (actions_.empty()) {
    actions_ = header.action_names;
    actions_path_ = path;
  }
  const auto [here, there] = std::mismatch(header.action_names.begin(), header.action_names.end(), actions_.begin());
  if (here == header.action_names.end()) return;
  throw Error(ErrorKind::data,
              fmt::format("action {} is '{}', but '{}' in {}; import both with one --encoding",
                          here - header.action_names.begin(), *here, *there, actions_path_),
              {.file = path, .dataset = "attribute action_names"});
}

std::shared_ptr<const ColumnOrder> SchemaBuilder::add(const std::string& path, const ShardHeader& header) {
  if (first_path_.empty()) {
    first_path_ = path;
    first_ = header;
    first_.entries_before.clear();
    common_targets_ = header.targets;
    common_models_ = header.models;
  } else {
    check_against_first(path, header);
  }
  all_f32_ = all_f32_ && header.context_type == FloatType::f32;
  if (!header.has_propensity) without_propensity_ = path;
  if (!header.has_log_propensity) without_log_ = path;
  if (!header.has_label_propensity) without_labels_ = path;
  (header.has_cluster ? with_cluster_ : without_cluster_) = path;
  std::vector<std::string> both;
  std::set_intersection(common_targets_.begin(), common_targets_.end(), header.targets.begin(), header.targets.end(),
                        std::back_inserter(both));
  common_targets_ = std::move(both);
  keep_common_models(header);
  match_actions(path, header);
  return match_columns(path, header);
}

void SchemaBuilder::keep_common_models(const ShardHeader& header) {
  std::vector<StoredModel> both;
  for (const StoredModel& one : common_models_) {
    for (const StoredModel& other : header.models) {
      if (one.name != other.name) continue;
      std::vector<std::string>& targets = both.emplace_back(StoredModel{one.name, {}}).targets;
      std::set_intersection(one.targets.begin(), one.targets.end(), other.targets.begin(), other.targets.end(),
                            std::back_inserter(targets));
    }
  }
  common_models_ = std::move(both);
}

std::optional<ModelColumns> SchemaBuilder::model(const std::vector<std::string>& targets) const {
  for (const StoredModel& one : common_models_) {
    if (options_.sole_model ? common_models_.size() != 1 : one.name != options_.model) continue;
    ModelColumns columns{one.name, {}};
    for (const std::string& target : targets)
      columns.targets.push_back(std::binary_search(one.targets.begin(), one.targets.end(), target));
    return columns;
  }
  return {};
}

/// Rows without a number are neither on their own nor together with others: nobody can tell.
void SchemaBuilder::require_cluster_in_all() const {
  if (with_cluster_.empty() || without_cluster_.empty()) return;
  throw Error(ErrorKind::data,
              fmt::format("there is no such dataset, but {} has one: either all shards say which rows belong together, "
                          "or none does; add it here, with a number of its own for each row that is independent of all "
                          "others, or read the files apart",
                          with_cluster_),
              {.file = without_cluster_, .dataset = "cluster"});
}

Schema SchemaBuilder::schema() const {
  Schema schema;
  schema.action_kind = first_.action_kind;
  schema.num_actions = first_.num_actions;
  schema.features = first_.features;
  schema.sparse = first_.sparse && first_.features > 0;
  schema.context_type = all_f32_ && !schema.sparse ? FloatType::f32 : FloatType::f64;
  schema.outcome = options_.reward ? Outcome::reward : first_.outcome;
  schema.context_columns = columns_;
  if (!columns_.empty()) schema.unnamed_columns = without_columns_;
  schema.action_names = actions_;
  if (options_.contexts_only) {
    schema.stage = RowStage::contexts;
    return schema;
  }
  schema.label_propensity = options_.label_propensity && without_labels_.empty();
  if (without_log_.empty()) {
    schema.propensity = PropensityForm::logarithm;
  } else if (without_propensity_.empty()) {
    schema.propensity = PropensityForm::linear;
  } else if (without_labels_.empty()) {
    schema.propensity = PropensityForm::label_product;
    schema.label_propensity = true;
  } else {
    throw Error(
        ErrorKind::data,
        fmt::format("there is no such dataset, and {} has no log_propensity: all shards must store propensities "
                    "in the same way",
                    without_log_),
        {.file = without_propensity_, .dataset = "propensity"});
  }
  schema.targets = options_.all_targets ? common_targets_ : options_.targets;
  schema.model = model(schema.targets);
  require_cluster_in_all();
  schema.cluster = !with_cluster_.empty();
  return schema;
}

}  // namespace scrm
