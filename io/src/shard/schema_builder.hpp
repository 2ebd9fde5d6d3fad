/// SchemaBuilder: the schema of many shards from the facts of each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scrm/io/shard/dataset.hpp"
#include "shard/column_order.hpp"
#include "shard/shard_header.hpp"

namespace scrm {

/// Gathers the schema over shards: everything must agree but what can be brought to a common form.
class SchemaBuilder {
 public:
  explicit SchemaBuilder(const ReadOptions& options) : options_(options) {}

  /// Returns the order of the shard's columns.
  std::shared_ptr<const ColumnOrder> add(const std::string& path, const ShardHeader& header);
  Schema schema() const;

 private:
  void check_against_first(const std::string& path, const ShardHeader& header) const;
  [[noreturn]] void fail_action_count(const std::string& path, const ShardHeader& header) const;
  std::shared_ptr<const ColumnOrder> match_columns(const std::string& path, const ShardHeader& header);
  void match_actions(const std::string& path, const ShardHeader& header);
  void keep_common_models(const ShardHeader& header);
  std::optional<ModelColumns> model(const std::vector<std::string>& targets) const;
  void require_cluster_in_all() const;
  [[noreturn]] void mismatch(const std::string& path, const std::string& dataset, const std::string& here,
                             const std::string& there) const;

  const ReadOptions& options_;
  std::string first_path_;
  ShardHeader first_;
  // The first shards that name them; empty while none does.
  std::string columns_path_, actions_path_;
  std::vector<std::string> columns_, actions_;
  std::string without_columns_;  // the first shard with a context that names none of it
  bool all_f32_ = true;
  // A path that lacks it, for the message; empty while all have it.
  std::string without_propensity_, without_log_, without_labels_, without_cluster_;
  std::string with_cluster_;  // a path that has it
  std::vector<std::string> common_targets_;
  std::vector<StoredModel> common_models_;  // with the targets that all shards have
};

}  // namespace scrm
