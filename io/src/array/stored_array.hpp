/// StoredArray: one dataset of numbers in an open file, and rows of it taken without decoding them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  std::optional<Element> element = {};  ///< where it is not that of the whole array
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
  /// Throws when the dataset is missing, holds no numbers, or is neither a list nor a table.
  StoredArray(const Hdf5File& file, const std::string& name) : facts_(file.array(name)) {}

  const std::string& name() const noexcept { return facts_->name; }
  std::int64_t rank() const noexcept { return facts_->rank; }
  std::int64_t rows() const noexcept { return facts_->rows; }
  std::int64_t width() const noexcept { return facts_->width; }
  Element element() const noexcept { return facts_->element; }
  /// Of compressed chunks; 0 when rows can be taken singly.
  std::int64_t chunk_rows() const noexcept {
    return facts_->storage == Storage::encoded_chunks ? facts_->chunk_rows : 0;
  }
  MemoryCost memory_cost() const noexcept;

  /// Takes rows [first, first + rows) from the file. One call at a time.
  RawArray fetch(const Hdf5File& file, std::int64_t first, std::int64_t rows);
  /// Of the indptr of a sparse context: the rows + 1 offsets at which the entries of rows [first, first + rows) begin
  /// and the last ends. Throws unless they never fall and end within `entries`.
  std::vector<std::int64_t> read_offsets(const Hdf5File& file, std::int64_t first, std::int64_t rows,
                                         std::int64_t entries);

 private:
  struct KeptChunk {
    std::int64_t index = 0;
    std::shared_ptr<RawBytes> bytes;
  };

  std::vector<std::int64_t> read_integers(const Hdf5File& file, std::int64_t first, std::int64_t rows);
  std::shared_ptr<RawBytes> fetch_bytes(const Hdf5File& file, std::uint64_t address, std::size_t length) const;
  RawTile fetch_by_hdf5(const Hdf5File& file, std::int64_t first, std::int64_t rows) const;
  void fetch_chunks(const Hdf5File& file, std::int64_t first, std::int64_t rows, std::vector<RawTile>& tiles);
  /// The chunks [first, first + count), those that were kept among them, still encoded.
  std::vector<std::shared_ptr<RawBytes>> encoded_chunks(const Hdf5File& file, std::int64_t first, std::int64_t count);
  ChunkEncoding chunk_encoding(const Hdf5File& file, std::int64_t first, std::uint64_t skipped_filters) const;
  Place place(const Hdf5File& file) const { return {.file = *file.path(), .dataset = name()}; }

  std::shared_ptr<const ArrayFacts> facts_;
  std::vector<KeptChunk> kept_;  ///< encoded chunks that reach beyond the last rows fetched
};

}  // namespace scrm
