/// Inspection: what `scrm inspect` found, as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scrm/engine/pass/summary.hpp"
#include "scrm/io/shard/audit.hpp"
#include "scrm/io/shard/dataset.hpp"

namespace scrm {

struct Inspection {
  std::string name;  ///< the paths as they were given
  Schema schema;
  std::vector<Shard> shards;
  std::int64_t rows = 0;  ///< in the files, bad ones included
  Summary summary;
  Audit audit;
  std::vector<std::string> copies;  ///< warnings of files that hold the same rows
  double seconds = 0;

  std::int64_t bytes() const;
};

/// Whether the weights of all rows are one number but for rounding: then they have no standard error to be measured in.
bool is_constant(const Moments& weights);

/// As the data names it, or by its number.
std::string feature_name(const Schema& schema, std::size_t feature);
std::string action_name(const Schema& schema, std::size_t action);

/// Things worth a second look, one sentence each: actions that never occur, features that never change, propensities
/// that do not add up.
std::vector<std::string> remarks(const Inspection& inspection);

std::string inspection_text(const Inspection& inspection);
nlohmann::ordered_json inspection_json(const Inspection& inspection);

}  // namespace scrm
