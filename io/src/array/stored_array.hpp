/// StoredArray: one dataset of numbers in an open file, and rows of it taken without decoding them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/element.hpp"
#include "array/raw_bytes.hpp"
#include "hdf5/hdf5_file.hpp"

namespace scrm {

/// Shorter ranges of a file are read at once; longer ones by the threads that decode them.
inline constexpr std::size_t kMinDeferred = std::size_t{128} << 10;

/// Rows [row, row + rows) x columns [column, column + columns) of what was fetched, row-major from `offset` on.
struct RawTile {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  std::size_t row_bytes = 0;
  std::size_t offset = 0;
  std::shared_ptr<RawBytes> bytes;
};

/// Rows of one array, not decoded yet. Rows count as in the file; tiles are in row order.
struct RawArray {
  Element element = Element::f64;
  std::vector<RawTile> tiles;
};

/// Bytes in memory for r rows out of an array of n: at most min(total, fixed + per_row * r).
struct MemoryCost {
  double fixed = 0;
  double per_row = 0;
  double total = 0;

  void add(const MemoryCost& other) noexcept;
};

class StoredArray {
 public:
  /// Throws when the dataset is missing, holds no numbers, or is neither a list nor a table. Needs the hdf5::Lock, as
  /// does everything here.
  StoredArray(const Hdf5File& file, const std::string& name);
  StoredArray(StoredArray&&) noexcept = default;
  StoredArray& operator=(StoredArray&&) noexcept = default;
  /// Takes the lock itself.
  ~StoredArray();

  const std::string& name() const noexcept { return name_; }
  int rank() const noexcept { return rank_; }
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t width() const noexcept { return width_; }
  Element element() const noexcept { return element_; }
  /// Of compressed chunks; 0 when rows can be taken singly.
  std::int64_t chunk_rows() const noexcept { return storage_ == Storage::encoded_chunks ? chunk_rows_ : 0; }
  MemoryCost memory_cost() const noexcept;

  /// Takes rows [first, first + rows) from the file.
  RawArray fetch(const Hdf5File& file, std::int64_t first, std::int64_t rows);
  /// Of the indptr of a sparse context: the rows + 1 offsets at which the entries of rows [first, first + rows) begin
  /// and the last ends. Throws unless they never fall and end within `entries`.
  std::vector<std::int64_t> read_offsets(const Hdf5File& file, std::int64_t first, std::int64_t rows,
                                         std::int64_t entries) const;

 private:
  enum class Storage : std::uint8_t {
    contiguous,      ///< one range of the file
    plain_chunks,    ///< uncompressed chunks whose addresses are known
    encoded_chunks,  ///< chunks handed out as they are
    by_hdf5          ///< anything else, read and converted by HDF5 itself
  };
  struct ChunkLocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    unsigned skipped_filters = 0;  ///< bit i: filter i was not applied
    bool known = false;
  };
  struct KeptChunk {
    std::int64_t index = 0;
    std::shared_ptr<RawBytes> bytes;
  };

  void read_type(const Hdf5File& file);
  void read_shape(const Hdf5File& file);
  void read_storage(const Hdf5File& file);
  bool read_filters(hid_t creation);
  std::vector<std::int64_t> read_integers(const Hdf5File& file, std::int64_t first, std::int64_t rows) const;
  void require_filters(const Hdf5File& file, hid_t creation) const;

  std::size_t row_bytes() const noexcept { return static_cast<std::size_t>(width_) * element_size(element_); }
  std::size_t chunk_row_bytes() const noexcept {
    return static_cast<std::size_t>(chunk_columns_) * element_size(element_);
  }
  std::size_t chunk_bytes() const noexcept { return static_cast<std::size_t>(chunk_rows_) * chunk_row_bytes(); }
  std::int64_t chunks_across() const noexcept { return (width_ + chunk_columns_ - 1) / chunk_columns_; }

  std::shared_ptr<RawBytes> fetch_bytes(const Hdf5File& file, std::uint64_t address, std::size_t length) const;
  void require_inside(const Hdf5File& file, std::uint64_t address, std::uint64_t length) const;
  RawTile fetch_by_hdf5(const Hdf5File& file, std::int64_t first, std::int64_t rows) const;
  void fetch_chunks(const Hdf5File& file, std::int64_t first, std::int64_t rows, std::vector<RawTile>& tiles);
  /// Gives the tile its bytes, `skip` rows into the chunk; returns whether they are the whole encoded chunk.
  bool fetch_chunk(const Hdf5File& file, std::int64_t index, std::int64_t skip, RawTile& tile);
  /// Null when the chunk was never written.
  std::shared_ptr<RawBytes> encoded_chunk(const Hdf5File& file, std::int64_t index);
  ChunkEncoding chunk_encoding(const Hdf5File& file, std::int64_t first, unsigned skipped_filters) const;
  std::shared_ptr<RawBytes> fill_bytes(const Hdf5File& file) const;
  const ChunkLocation& chunk_location(const Hdf5File& file, std::int64_t index);
  Place place(const Hdf5File& file) const { return {.file = *file.path, .dataset = name_}; }

  std::string name_;
  hdf5::Handle dataset_;
  int rank_ = 1;
  std::int64_t rows_ = 0;
  std::int64_t width_ = 1;
  Element element_ = Element::f64;
  bool native_ = true;        ///< the file's bytes are the machine's
  bool enumeration_ = false;  ///< of integers
  Storage storage_ = Storage::by_hdf5;
  bool located_ = false;  ///< chunks are few enough to ask where they are
  std::uint64_t address_ = 0;
  std::int64_t chunk_rows_ = 0;
  std::int64_t chunk_columns_ = 1;
  std::int64_t stored_chunk_bytes_ = 0;  ///< of one chunk in HDF5's own cache, when it does the reading
  int shuffle_filter_ = -1;              ///< place in the pipeline
  int deflate_filter_ = -1;
  std::vector<ChunkLocation> chunk_locations_;
  std::vector<KeptChunk> kept_;  ///< encoded chunks that reach beyond the last rows fetched
};

}  // namespace scrm
