/// ShardSequence: the shards of an import, written one after another; all of them appear, or none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scrm/io/file/atomic_folder.hpp"
#include "scrm/io/import/import_output.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/io/shard/shard_writer.hpp"

namespace scrm {

/// What to say of numbered actions that were never logged: most likely their numbers are not what was meant. Empty
/// where all were logged, where actions have names, and where somebody said how many there are (`count_given`), unless
/// it is the first alone.
std::string unlogged_numbers_warning(const std::vector<std::int64_t>& counts, const Schema& schema, bool count_given);

/// Throws a usage Error for an output that makes no sense.
void check_output(const ImportOutput& output);

class ShardSequence {
 public:
  /// `records` is how many there will be, bad ones counted; it matters where the output asks for so many shards. Output
  /// and schema must outlive this.
  ShardSequence(const ImportOutput& output, const Schema& schema, std::int64_t records);

  /// Before record number `record` (from 0, bad ones counted) is added: whether the shard at hand is to end here.
  bool ends_before(std::int64_t record, std::int64_t rows_in_block) const;
  void append(const Block& block);
  void start_next_shard();
  void commit();

  int count() const noexcept { return opened_; }
  std::int64_t rows() const noexcept { return rows_; }
  /// Rows by category, or nothing.
  const std::vector<std::int64_t>& action_counts() const noexcept { return action_counts_; }

 private:
  std::int64_t first_record(int shard) const;
  void open();
  /// Errors name the folder that was asked for, not the temporary one, which is removed.
  void with_final_path(const std::function<void()>& action) const { folder_ ? folder_->write(action) : action(); }

  const ImportOutput& output_;
  const Schema& schema_;
  std::int64_t records_;
  std::optional<AtomicFolder> folder_;
  std::optional<ShardWriter> writer_;
  int opened_ = 0;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> action_counts_;
};

}  // namespace scrm
