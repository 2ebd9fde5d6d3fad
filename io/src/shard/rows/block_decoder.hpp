/// BlockDecoder: makes a block of the rows that were taken from shards, and audits them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "array/tile.hpp"
#include "audit/bad_rows.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "shard/rows/shard_rows.hpp"

namespace scrm {

/// Decodes part after part of one block, a part being the rows that come from one shard.
class BlockDecoder {
 public:
  BlockDecoder(const Schema& schema, ShardRows& rows, BlockBuffer& out) : schema_(schema), rows_(rows), out_(out) {
    if (out_.read_buffers().empty()) out_.read_buffers() = make_read_buffers(schema);
    out_.leave_nothing_in_place();
    leaves_in_place_ = out_.in_place() != nullptr;
  }

  /// Rows [first, first + rows) of the file behind the slice become rows [at, at + rows) of the block.
  void decode(const ShardSlice& slice, std::int64_t first, int rows, int at);
  /// Leaves out the bad rows; returns how many are left.
  int finish(int rows, Audit& audit);

 private:
  struct Part {
    const ShardSlice& slice;
    std::int64_t first;
    int rows;
    int at;
  };

  void decode(const Part& part);
  void decode_context(const Part& part);
  /// Leaves the context where it lies, row by row, when the buffer allows it and all of it can be used.
  bool keep_context_rows(const Part& part);
  void decode_context_columns(const Part& part);
  void decode_entries(const Part& part);
  /// Brings the columns of these rows into the data set's order.
  template <class T>
  void order_columns(const Part& part, T* base);
  void decode_action(const Part& part);
  void decode_loss(const Part& part);
  void decode_propensity(const Part& part);
  void multiply_labels(const Part& part);
  void decode_model(const Part& part);
  void decode_cluster(const Part& part);
  /// Turns the rows of a column of outcomes where they are rewards.
  void as_losses(const Part& part, double* column) const;

  /// The tile that has all rows of a whole block one after the other, as numbers of this type; null where none has, or
  /// the buffer wants none in place.
  const RawTile* whole_block_tile(const Part& part, std::size_t dataset, Element element, std::int64_t columns) const;
  template <class Room>
  const std::byte* rows_of_tile(const Part& part, const RawTile& tile, Room&& room);
  /// One double a row: left where it lies where that can be, else copied to the column. `place` is where
  /// BlockBuffer::InPlace says so. Audited unless the context is not.
  template <class Place>
  void list(const Part& part, std::size_t dataset, const AuditRule& rule, double* column, Place place);
  template <class To>
  void columns(const Part& part, std::size_t dataset, const AuditRule& rule, To* base, bool table);
  /// Throws for integers that no double holds exactly: nobody logs them, but they are what a damaged type makes of
  /// floating-point numbers.
  void require_exact(const Part& part, const Tile& tile, const AuditRule& rule, std::int64_t row) const;
  void find_bad_rows(const Part& part, const Tile& tile, const AuditRule& rule, std::int64_t row, std::int64_t column,
                     bool table);
  /// use(piece, its first row) for the rows of the tile in [first, end), as many at a time as stay in cache.
  template <class Use>
  void for_each_piece(const Part& part, std::size_t dataset, const RawTile& tile, std::int64_t first, std::int64_t end,
                      Use&& use);
  /// use(piece, its first row, its first column) for all rows of the part.
  template <class Use>
  void for_each_piece(const Part& part, std::size_t dataset, Use&& use);

  const Schema& schema_;
  ShardRows& rows_;
  BlockBuffer& out_;
  BadRows bad_rows_;
  bool leaves_in_place_ = false;
  std::optional<Part> unaudited_part_;  // all rows, when their contexts were left row by row
};

}  // namespace scrm
