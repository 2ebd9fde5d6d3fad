/// write_shards: the rows of a source as shard files, made and encoded in parallel, written one after another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/io/shard/shard_writer.hpp"

namespace scrm {

/// One file to write: the rows [first_row, first_row + rows) of the source.
struct ShardPlan {
  std::string path;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

/// Rows split over `shards` files part-00000.h5, part-00001.h5, ... in `folder`, no two of which differ by more than
/// one row.
std::vector<ShardPlan> plan_shards(const std::string& folder, std::int64_t rows, int shards);

/// Writes every shard of the plan, which must cover the source in order. The bytes of the datasets depend on rows, plan
/// and options alone. Rows that fail the audit throw: this is for sources that make rows, not for cleaning them. Memory
/// in flight stays below options.memory; an Error says so when one chunk alone would pass it.
void write_shards(Source& source, const std::vector<ShardPlan>& plan, const WriteOptions& write,
                  const PassOptions& options);

}  // namespace scrm
