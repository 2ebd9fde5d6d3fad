/// Dataset: the shards of one logged data set, opened for reading raw rows in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scrm/io/shard/audit.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/memory_shard.hpp"
#include "scrm/io/shard/schema.hpp"

namespace scrm {

struct ReadOptions {
  bool reward = false;                    ///< `loss` holds rewards, whether the data says so or nothing
  std::vector<std::string> targets = {};  ///< target columns wanted, in this order; every shard must have them
  bool all_targets = false;               ///< instead: every target column that all shards have (for inspect)
  std::string model = {};                 ///< outside model wanted, by name; every shard must have it
  bool sole_model = false;                ///< instead: the one that all shards have, where there is just one
  bool label_propensity = true;           ///< read `label_propensity` where there is one
  bool cluster = false;                   ///< read `cluster` where there is one; all shards must have it, or none
  /// Read `context` and nothing else: actions, losses and propensities may be there or not. Rows without any context
  /// are counted by `loss` or `action`.
  bool contexts_only = false;
};

/// One file of a data set.
struct Shard {
  std::string path;
  std::int64_t first_row = 0;  ///< in the data set
  std::int64_t rows = 0;
  int rollout = 0;
  std::int64_t bytes = 0;  ///< file size
};

/// Rows taken from the files but not decoded yet. Holds raw chunks (shared with neighbouring RawRows where a chunk
/// reaches over their border), or the place of bytes that decoding reads; it may run on any thread.
class RawRows {
 public:
  virtual ~RawRows() = default;

  /// Decodes rows [first_row, first_row + rows) of the data set, which must lie inside what was fetched and number at
  /// most kBlockRows, into the buffer, leaves out bad rows (adding them to `audit`), and returns the rows that are
  /// left.
  virtual int decode(std::int64_t first_row, int rows, BlockBuffer& out, Audit& audit) = 0;

  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

/// Bytes that decoding holds for what is read from files, besides the block itself.
std::size_t read_buffer_bytes(const Schema& schema);

/// Opened once: the schema of every shard is read and checked against the first. Columns that have names are brought
/// into the first shard's order, rewards become losses. Files are opened again as rows are fetched, a few at a time.
class Dataset {
 public:
  /// Each path is an `.h5` file or a directory of them (read in name order). Throws an Error that names the file for
  /// anything missing, foreign, truncated or mismatched.
  Dataset(const std::vector<std::string>& paths, const ReadOptions& options);
  /// The same, and columns in memory that are read as if the files had them: "target/NAME", "model/NAME/logged" and
  /// "model/NAME/target/TARGET", a row for each row of the data set, in its order. They must outlive it. One that the
  /// files have too is taken from memory.
  Dataset(const std::vector<std::string>& paths, const ReadOptions& options, std::vector<MemoryArray> beside);
  /// Arrays in memory, read where they lie; they must outlive it. Errors name the array.
  Dataset(std::vector<MemoryShard> shards, const ReadOptions& options);
  ~Dataset();
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;

  const Schema& schema() const noexcept;
  std::int64_t rows() const noexcept;
  const std::vector<Shard>& shards() const noexcept;
  /// Distinct rollout numbers in ascending order.
  std::vector<int> rollouts() const;
  /// A view of the shards of one rollout only, as a data set of its own.
  Dataset rollout(int number) const;

  /// The serial stage: takes rows [first_row, first_row + rows) from the files. One call at a time, best in ascending
  /// order (a chunk that reaches over the end is then kept for the next call rather than read twice).
  std::unique_ptr<RawRows> fetch(std::int64_t first_row, std::int64_t rows);

  /// Bytes that fetched and decoded chunks of `rows` rows hold at most, for the memory budget.
  std::size_t fetch_bytes(std::int64_t rows) const noexcept;

  /// Rows of the tallest compressed chunk, 0 when no chunk needs decoding. A chunk is decoded whole by the first thread
  /// that needs a row of it, so fetches should span a few chunks for several threads to find work in one.
  std::int64_t chunk_rows() const noexcept;

 private:
  struct Impl;
  explicit Dataset(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace scrm
