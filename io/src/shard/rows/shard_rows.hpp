/// ShardRows: rows of one or many shards as they were taken from the files, and their decoding into blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/stored_array.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "shard/column_order.hpp"

namespace scrm {

/// The datasets of a shard that are read; those of outside_datasets() follow.
enum ShardDataset { kContext, kIndices, kValues, kAction, kLoss, kPropensity, kLabelPropensity, kCluster, kOutside };

/// A buffer for each of them, in that order; read_buffer_bytes() is what they come to.
std::vector<ReadBuffer> make_read_buffers(const Schema& schema);

/// Consecutive rows of one shard.
struct ShardSlice {
  std::shared_ptr<const std::string> path;
  std::int64_t first_row = 0;  ///< in the data set
  std::int64_t rows = 0;
  std::int64_t row_in_file = 0;              ///< of the first row
  std::vector<std::int64_t> offsets;         ///< sparse: where in indices and values each row begins, and the last ends
  std::vector<RawArray> arrays;              ///< by ShardDataset; empty where there is none
  std::shared_ptr<const ColumnOrder> order;  ///< of the context; null: as it lies
};

class ShardRows final : public RawRows {
 public:
  explicit ShardRows(std::shared_ptr<const Schema> schema) : schema_(std::move(schema)) {}

  /// Slices come in row order.
  void add(ShardSlice slice) { slices_.push_back(std::move(slice)); }

  int decode(std::int64_t first_row, int rows, BlockBuffer& out, Audit& audit) override;

  /// Decodes chunks that no thread is decoding, instead of waiting for one that another thread has begun.
  void decode_idle_chunks();

 private:
  std::shared_ptr<const Schema> schema_;
  std::vector<ShardSlice> slices_;
};

}  // namespace scrm
