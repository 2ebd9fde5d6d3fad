#include "task/unnamed_inputs.hpp"

#include <fmt/format.h>

namespace scrm {

std::string unnamed_inputs_warning(const Policy& policy, const std::string& name, const Dataset& dataset) {
  const std::vector<Shard>& shards = dataset.shards();
  const std::string first = shards.empty() ? "" : shards.front().path;  // arrays have none
  return unnamed_inputs_warning(policy, name, dataset.schema(), first.empty() ? "the data" : first);
}

std::string unnamed_inputs_warning(const Policy& policy, const std::string& name, const Schema& schema,
                                   const std::string& data) {
  if (policy.inputs.empty() || policy.outputs == 0 || schema.features == 0 || !schema.context_columns.empty())
    return "";
  return fmt::format("{} has no column names: its columns are taken in the order of {}'s inputs", data, name);
}

}  // namespace scrm
