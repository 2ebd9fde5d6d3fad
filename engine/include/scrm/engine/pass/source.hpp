/// Source: gives blocks by index. Memory, shards, or rows made anew from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "scrm/io/shard/audit.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

/// What one worker thread needs to turn fetched rows into blocks; made once per thread, reused.
class BlockLoader {
 public:
  virtual ~BlockLoader() = default;

  /// Whether blocks may have their dense contexts row by row (Block::context_by_row), and these and lists of doubles
  /// not audited, where that saves time; not at first. Some loaders never do.
  virtual void allow_in_place(bool) {}
};

/// Consecutive blocks, fetched together and not decoded yet.
class BlockGroup {
 public:
  virtual ~BlockGroup() = default;
};

/// Blocks [first, end).
struct BlockRange {
  std::int64_t first = 0, end = 0;
};

/// The blocks of one rank out of so many: consecutive, about as many as the others have, and beginning where a large
/// subtree of the tree over blocks does, so that its sums are few partials.
BlockRange rank_share(std::int64_t blocks, int rank, int ranks);

/// Rows in blocks of kBlockRows: block b holds rows [b * kBlockRows, (b + 1) * kBlockRows), the last fewer. Rows that
/// fail the audit are missing from their block; all else keeps its place, so results do not depend on anything but
/// rows.
class Source {
 public:
  virtual ~Source() = default;

  virtual const Schema& schema() const = 0;
  /// Rows before the audit.
  virtual std::int64_t rows() const = 0;
  std::int64_t blocks() const { return (rows() + kBlockRows - 1) / kBlockRows; }

  /// The blocks that a rank reduces; has no effect on results.
  virtual BlockRange share(int rank, int ranks) const { return rank_share(blocks(), rank, ranks); }

  /// How many blocks are best fetched at once (a power of two; has no effect on results).
  virtual int group_blocks() const = 0;
  /// Bytes that one group in flight, and one loader, hold at most.
  virtual std::size_t group_bytes() const = 0;
  virtual std::size_t loader_bytes() const = 0;

  virtual std::unique_ptr<BlockLoader> make_loader() const = 0;
  /// Serial: one call at a time, in ascending order.
  virtual std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) = 0;
  /// Any thread: block `index` of the source, which must be in the group. The view lives until the loader's next load.
  virtual Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const = 0;
};

}  // namespace scrm
