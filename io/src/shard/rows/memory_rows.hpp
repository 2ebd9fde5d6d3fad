/// Rows of a MemoryShard: checked as the header of a file is, and handed out where they lie.
#pragma once

#include "scrm/io/shard/memory_shard.hpp"
#include "shard/rows/shard_rows.hpp"
#include "shard/shard_header.hpp"

namespace scrm {

/// Throws an Error that names the array where they do not fit each other.
ShardHeader memory_header(const MemoryShard& shard, const ReadOptions& options);

/// Rows [first, first + rows) of what the schema needs; the caller sets the slice's place in the data set.
ShardSlice memory_slice(const MemoryShard& shard, const Schema& schema, std::int64_t first, std::int64_t rows);

}  // namespace scrm
