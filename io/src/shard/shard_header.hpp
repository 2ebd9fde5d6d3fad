/// ShardHeader: what one shard says about itself, checked for agreement within the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array/stored_array.hpp"
#include "hdf5/hdf5_file.hpp"
#include "scrm/io/shard/dataset.hpp"

namespace scrm {

/// An outside model that has predictions in a shard.
struct StoredModel {
  std::string name;
  std::vector<std::string> targets;  ///< those that it has expectations for, in name order
};

struct ShardHeader {
  ActionKind action_kind = ActionKind::continuous;
  int num_actions = 0;
  int rollout = 0;
  std::optional<Outcome> outcome;
  std::vector<std::string> context_columns;
  std::vector<std::string> action_names;
  std::int64_t rows = 0;
  std::int64_t features = 0;
  bool sparse = false;
  FloatType context_type = FloatType::f64;
  bool has_propensity = false;
  bool has_log_propensity = false;
  bool has_label_propensity = false;
  bool has_cluster = false;          ///< looked for only where it is asked for
  std::vector<std::string> targets;  ///< all there are, in name order
  std::vector<StoredModel> models;   ///< all there are, in name order; looked for only where one is asked for
  std::int64_t chunk_rows = 0;       ///< of the tallest compressed chunk
  MemoryCost cost;                   ///< of all datasets that may be read, entries of sparse contexts left out
  MemoryCost entry_cost;             ///< of sparse entries: "rows" are entries
  std::vector<std::int64_t>
      entries_before;  ///< sparse: entries before rows 0, kBlockRows, 2 kBlockRows, ... and in all
};

/// Reads and checks.
ShardHeader read_shard_header(const Hdf5File& file, const ReadOptions& options);

}  // namespace scrm
