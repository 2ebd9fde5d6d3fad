/// ShardWriter: writes one shard, atomically, from blocks or from chunks encoded on other threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scrm/io/shard/schema.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

struct WriteOptions {
  bool gzip = false;            ///< shuffle + deflate
  std::int64_t chunk_rows = 0;  ///< 0: 65,536, or fewer where rows are so wide that a chunk would pass 16 MiB
  int rollout = 0;
  bool float32_scalars = false;  ///< loss, propensity, action and targets as float32 instead of float64
  std::map<std::string, std::string> attributes;  ///< more root attributes, such as where the data came from
};

/// Rows per chunk for a schema under these options.
std::int64_t chunk_rows(const Schema& schema, const WriteOptions& options) noexcept;

/// The bytes of one chunk of every dataset, ready for the file.
struct EncodedRows;
struct EncodedRowsDeleter {
  void operator()(EncodedRows* rows) const noexcept;
};
using EncodedRowsPtr = std::unique_ptr<EncodedRows, EncodedRowsDeleter>;

/// Pure; any thread: transposes, shuffles and deflates the rows of these blocks, in order. Together they must make one
/// chunk of chunk_rows rows, or fewer for a shard's last chunk.
EncodedRowsPtr encode_rows(const Schema& schema, const WriteOptions& options, const std::vector<Block>& blocks);

/// Writes under a temporary name in the same folder; commit() renames. Destroyed without commit (an exception), the
/// temporary file is removed and nothing appears under the final name.
class ShardWriter {
 public:
  ShardWriter(const std::string& path, const Schema& schema, const WriteOptions& options);
  ~ShardWriter();

  /// Appends one encoded chunk; all but the last must be full.
  void append(const EncodedRows& rows);
  /// Appends rows of any number, gathering them into chunks.
  void append(const Block& block);
  /// Flushes to disk and renames into place.
  void commit();

  std::int64_t rows() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scrm
