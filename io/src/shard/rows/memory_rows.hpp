/// Rows of a MemoryShard, and columns in memory beside files: checked as the header of a file is, and handed out where
/// they lie.
#pragma once

#include <span>
#include <string>

#include "scrm/io/shard/memory_shard.hpp"
#include "shard/rows/shard_rows.hpp"
#include "shard/shard_header.hpp"

namespace scrm {

/// Throws an Error that names the array where they do not fit each other.
ShardHeader memory_header(const MemoryShard& shard, const ReadOptions& options);

/// Rows [first, first + rows) of what the schema needs; the caller sets the slice's place in the data set.
ShardSlice memory_slice(const MemoryShard& shard, const Schema& schema, std::int64_t first, std::int64_t rows);

/// Null where there is none.
const MemoryArray* find_array(std::span<const MemoryArray> arrays, const std::string& name) noexcept;

/// The options without what lies beside the files.
ReadOptions leave_to_files(ReadOptions options, std::span<const MemoryArray> beside);
/// The model that is asked for, where it lies beside the file of this header.
void add_beside(const ReadOptions& options, std::span<const MemoryArray> beside, ShardHeader& header);
/// Throws an Error that names the column unless each is a list of so many rows.
void require_rows(std::span<const MemoryArray> beside, std::int64_t rows);
/// The rows beside those of the slice, which are rows `first` and following of the columns.
void add_beside(std::span<const MemoryArray> beside, const Schema& schema, std::int64_t first, ShardSlice& slice);

}  // namespace scrm
