/// The columns of a shard as the file lays them out, and rows gathered into that layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/element.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

/// Which member of a Block a column is taken from.
enum class BlockField : std::uint8_t {
  context,
  action,
  category,
  bits,
  loss,
  propensity,
  label_propensity,
  target,
  cluster
};

/// One dataset whose rows are the shard's rows.
struct ShardColumn {
  std::string name;
  BlockField field;
  int target;  ///< which one, for BlockField::target
  Element element;
  std::int64_t width;  ///< elements in a row
  bool matrix;         ///< [n, width] rather than [n]

  std::size_t row_bytes() const noexcept { return static_cast<std::size_t>(width) * element_size(element); }
};

/// Every row-shaped dataset of a shard, in the order it is written. A context without features, and a sparse one, is
/// not among them.
std::vector<ShardColumn> shard_columns(const Schema& schema, const WriteOptions& options);

/// One chunk of every dataset. `packed`: the bytes are those of whole chunks, filtered, as the file takes them;
/// otherwise plain row-major values of exactly `rows` rows.
struct EncodedRows {
  std::int64_t rows = 0;
  bool packed = false;
  std::vector<std::vector<std::byte>> columns;

  // Sparse contexts. Their chunks are counted in entries, not rows, so the writer cuts and packs them.
  std::vector<std::int64_t> row_ends;  ///< entries up to the end of each row, from this chunk's first
  std::vector<std::byte> indices;
  std::vector<std::byte> values;
};

/// Appends rows [from, to) of a block to plain rows.
void gather_rows(const Schema& schema, const std::vector<ShardColumn>& columns, const Block& block, int from, int to,
                 EncodedRows& out);

/// Packs every column of plain rows for chunks of `chunk` rows.
void pack_rows(const std::vector<ShardColumn>& columns, std::int64_t chunk, bool gzip, EncodedRows& rows);

}  // namespace scrm
