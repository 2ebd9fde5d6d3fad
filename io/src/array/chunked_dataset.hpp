/// Datasets that are written chunk by chunk, past HDF5's own filters and conversions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/element.hpp"
#include "hdf5/hdf5_handle.hpp"

namespace scrm {

/// Rows of a chunk when nothing else is asked for: a power of two, so that chunks and blocks share their borders, that
/// keeps a chunk of the widest rows affordable.
std::int64_t default_chunk_rows(std::int64_t row_bytes) noexcept;

// Sparse entries in a chunk: 2 MiB of values, enough to compress well, little to inflate for a few rows.
inline constexpr std::int64_t kEntriesPerChunk = std::int64_t{1} << 18;

/// An extendible dataset [n] or [n, width], chunked over whole rows. Its chunk size is fixed when the first chunk is
/// there, so that a file of ten rows does not hold a chunk of 65,536. Calls need the hdf5::Lock.
class ChunkedDataset {
 public:
  /// `file` is the final path, for messages.
  ChunkedDataset(std::string file, std::string name, Element element, std::int64_t width, bool matrix, bool gzip);

  bool created() const noexcept { return dataset_.valid(); }
  void create(hid_t parent, std::int64_t chunk_rows);
  /// Writes the packed bytes of the chunk that begins at row `first_row` and makes the dataset `rows` rows long.
  void write(std::int64_t first_row, std::int64_t rows, const std::vector<std::byte>& packed);
  /// False when HDF5 could not close it.
  bool close() noexcept { return dataset_.reset(); }

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string file_;
  std::string name_;
  Element element_;
  std::int64_t width_;
  bool matrix_;
  bool gzip_;
  hdf5::Handle dataset_;
};

/// A one-dimensional dataset that is given elements in any number and cuts them into chunks.
class StreamDataset {
 public:
  StreamDataset(std::string file, std::string name, Element element, std::int64_t chunk, bool gzip);

  void append(hid_t parent, const std::byte* bytes, std::size_t size);
  /// Writes what is left; creates the dataset if there was nothing at all.
  void finish(hid_t parent);
  bool close() noexcept { return dataset_.close(); }

 private:
  void write_pending(hid_t parent, std::int64_t chunk);

  ChunkedDataset dataset_;
  Element element_;
  std::int64_t chunk_;
  bool gzip_;
  std::int64_t written_ = 0;  // elements
  std::vector<std::byte> pending_;
};

}  // namespace scrm
