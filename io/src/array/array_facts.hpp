/// ArrayFacts: what a file says of one of its datasets of numbers, as plain data: enough to read it without HDF5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "array/element.hpp"
#include "hdf5/seal.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

enum class Storage : std::uint8_t {
  contiguous,      ///< one range of the file
  plain_chunks,    ///< uncompressed chunks whose addresses are known
  encoded_chunks,  ///< chunks handed out as they are
  by_hdf5          ///< anything else, read and converted by HDF5 itself
};

/// Where a chunk is; `bytes` is 0 when it was never written, or the way to it is lost.
struct ChunkLocation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped_filters = 0;  ///< bit i: filter i was not applied
};

struct ArrayFacts {
  std::string name;
  std::int64_t object = 0;  ///< its own address, below 0 if not one of the file: two names may lead to one dataset
  std::int64_t rank = 1;
  std::int64_t rows = 0;
  std::int64_t width = 1;
  Element element = Element::f64;
  Storage storage = Storage::by_hdf5;
  bool elsewhere = false;         ///< its numbers are in other files
  std::int64_t address = 0;       ///< when contiguous, whoever reads it
  std::int64_t stored_bytes = 0;  ///< when contiguous; else 0
  std::int64_t chunk_rows = 0;    ///< 0 when it has no chunks
  std::int64_t chunk_columns = 1;
  std::int64_t filters = 0;          ///< in the pipeline
  std::int64_t shuffle_filter = -1;  ///< place in the pipeline
  std::int64_t deflate_filter = -1;
  bool located = false;              ///< whether `chunks` says where all of them are, in row-major order
  std::vector<std::int64_t> chunks;  ///< address, bytes and skipped filters of one after the other
  std::int64_t hdf5_cache = 0;       ///< bytes that HDF5 holds while it reads rows itself

  std::size_t row_bytes() const noexcept { return static_cast<std::size_t>(width) * element_size(element); }
  std::size_t chunk_row_bytes() const noexcept {
    return static_cast<std::size_t>(chunk_columns) * element_size(element);
  }
  std::size_t chunk_bytes() const noexcept { return static_cast<std::size_t>(chunk_rows) * chunk_row_bytes(); }
  std::int64_t chunks_down() const noexcept { return (rows + chunk_rows - 1) / chunk_rows; }
  std::int64_t chunks_across() const noexcept { return (width + chunk_columns - 1) / chunk_columns; }
  ChunkLocation chunk(std::int64_t index) const noexcept {
    const std::int64_t* at = chunks.data() + 3 * index;
    return {static_cast<std::uint64_t>(at[0]), static_cast<std::uint64_t>(at[1]), static_cast<std::uint64_t>(at[2])};
  }
};

std::string serialize_facts(const ArrayFacts& facts);
/// Throws an Error of this place when the bytes are not those of facts.
ArrayFacts deserialize_facts(std::string_view bytes, const Place& place);

/// Throws an Error unless the facts can be true of a file of this many bytes: shapes that its bytes can fill, and
/// ranges that lie inside of it and do not overlap.
void check_facts(const ArrayFacts& facts, std::int64_t file_bytes, const Place& place);

/// Where its numbers are, as far as that is known.
std::vector<Extent> extents_of(const ArrayFacts& facts);

/// Sorts; the first pair that overlaps stands at the returned index and the next one, extents.size() when none does.
std::size_t find_overlap(std::vector<Extent>& extents);

}  // namespace scrm
