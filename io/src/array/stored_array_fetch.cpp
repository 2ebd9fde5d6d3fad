#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "array/stored_array.hpp"

namespace scrm {
namespace {

hid_t memory_type(Element element) {
  switch (element) {
    case Element::i8:
      return H5T_NATIVE_INT8;
    case Element::i16:
      return H5T_NATIVE_INT16;
    case Element::i32:
      return H5T_NATIVE_INT32;
    case Element::i64:
      return H5T_NATIVE_INT64;
    case Element::u8:
      return H5T_NATIVE_UINT8;
    case Element::u16:
      return H5T_NATIVE_UINT16;
    case Element::u32:
      return H5T_NATIVE_UINT32;
    case Element::u64:
      return H5T_NATIVE_UINT64;
    case Element::f32:
      return H5T_NATIVE_FLOAT;
    case Element::f64:
      break;
  }
  return H5T_NATIVE_DOUBLE;
}

}  // namespace

RawArray StoredArray::fetch(const Hdf5File& file, std::int64_t first, std::int64_t rows) {
  RawArray array;
  array.element = element_;
  if (rows == 0 || width_ == 0) return array;
  switch (storage_) {
    case Storage::contiguous: {
      const std::uint64_t address = address_ + static_cast<std::uint64_t>(first) * row_bytes();
      auto bytes = fetch_bytes(file, address, static_cast<std::size_t>(rows) * row_bytes());
      array.tiles.push_back({first, rows, 0, width_, row_bytes(), 0, std::move(bytes)});
      break;
    }
    case Storage::plain_chunks:
    case Storage::encoded_chunks:
      fetch_chunks(file, first, rows, array.tiles);
      break;
    case Storage::by_hdf5:
      array.tiles.push_back(fetch_by_hdf5(file, first, rows));
      break;
  }
  return array;
}

void StoredArray::require_inside(const Hdf5File& file, std::uint64_t address, std::uint64_t length) const {
  const auto size = static_cast<std::uint64_t>(file.bytes);
  if (address > size || length > size - address) {
    throw Error(ErrorKind::data,
                fmt::format("lies at bytes {} to {} of a file that has only {}: the file was cut short", address,
                            address + length, size),
                place(file));
  }
}

std::shared_ptr<RawBytes> StoredArray::fetch_bytes(const Hdf5File& file, std::uint64_t address,
                                                   std::size_t length) const {
  require_inside(file, address, length);
  if (length >= kMinDeferred)
    return std::make_shared<FileBytes>(FileRange(file.descriptor, address, length, place(file)));
  auto copy = std::make_shared<OwnedBytes>(length);
  read_all_at(*file.descriptor, copy->data(), length, address, place(file));
  return copy;
}

RawTile StoredArray::fetch_by_hdf5(const Hdf5File& file, std::int64_t first, std::int64_t rows) const {
  const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
  const hsize_t count[2] = {static_cast<hsize_t>(rows), static_cast<hsize_t>(width_)};
  const hdf5::Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  const hdf5::Handle memory(H5Screate_simple(rank_, count, nullptr), H5Sclose);
  hdf5::Handle like_file;
  if (enumeration_) {  // HDF5 converts an enumeration only to its like
    const hdf5::Handle type(H5Dget_type(dataset_.get()), H5Tclose);
    like_file = hdf5::Handle(H5Tget_native_type(type.get(), H5T_DIR_ASCEND), H5Tclose);
  }
  auto bytes = std::make_shared<OwnedBytes>(static_cast<std::size_t>(rows) * row_bytes());
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0 ||
      H5Dread(dataset_.get(), enumeration_ ? like_file.get() : memory_type(element_), memory.get(), space.get(),
              H5P_DEFAULT, bytes->data()) < 0) {
    hdf5::fail(ErrorKind::data, fmt::format("rows {} to {} cannot be read", first, first + rows - 1), place(file));
  }
  return {first, rows, 0, width_, row_bytes(), 0, std::move(bytes)};
}

std::vector<std::int64_t> StoredArray::read_integers(const Hdf5File& file, std::int64_t first,
                                                     std::int64_t rows) const {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
  if (rows == 0) return numbers;
  const hsize_t start[2] = {static_cast<hsize_t>(first), 0};
  const hsize_t count[2] = {static_cast<hsize_t>(rows), 1};
  const hdf5::Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  const hdf5::Handle memory(H5Screate_simple(rank_, count, nullptr), H5Sclose);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) < 0 ||
      H5Dread(dataset_.get(), H5T_NATIVE_INT64, memory.get(), space.get(), H5P_DEFAULT, numbers.data()) < 0) {
    hdf5::fail(ErrorKind::data, fmt::format("rows {} to {} cannot be read", first, first + rows - 1), place(file));
  }
  return numbers;
}

std::vector<std::int64_t> StoredArray::read_offsets(const Hdf5File& file, std::int64_t first, std::int64_t rows,
                                                    std::int64_t entries) const {
  std::vector<std::int64_t> offsets = read_integers(file, first, rows + 1);
  const auto bad = [&](std::size_t i, const std::string& why) {
    const std::int64_t row = first + static_cast<std::int64_t>(i);
    throw Error(ErrorKind::data, why, {.file = *file.path, .dataset = name_, .row = row});
  };
  if (first == 0 && offsets.front() != 0)
    bad(0, fmt::format("{} is not 0, where the entries of the first row begin", offsets.front()));
  std::int64_t before = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t at = offsets[i];
    if (at < before) bad(i, fmt::format("{} is less than {}, which it follows", at, before));
    if (at > entries) bad(i, fmt::format("{} is beyond the {} entries there are", at, entries));
    before = at;
  }
  return offsets;
}

void StoredArray::fetch_chunks(const Hdf5File& file, std::int64_t first, std::int64_t rows,
                               std::vector<RawTile>& tiles) {
  const std::int64_t end = first + rows;
  std::vector<KeptChunk> kept;
  for (std::int64_t band = first / chunk_rows_; band * chunk_rows_ < end; ++band) {
    const std::int64_t begin = band * chunk_rows_;
    for (std::int64_t across = 0; across < chunks_across(); ++across) {
      RawTile tile;
      tile.row = std::max(first, begin);
      tile.rows = std::min({end, begin + chunk_rows_, rows_}) - tile.row;
      tile.column = across * chunk_columns_;
      tile.columns = std::min(chunk_columns_, width_ - tile.column);
      tile.row_bytes = chunk_row_bytes();
      const std::int64_t index = band * chunks_across() + across;
      const bool whole = fetch_chunk(file, index, tile.row - begin, tile);
      if (whole && std::min(begin + chunk_rows_, rows_) > end) kept.push_back({index, tile.bytes});
      tiles.push_back(std::move(tile));
    }
  }
  kept_ = std::move(kept);
}

bool StoredArray::fetch_chunk(const Hdf5File& file, std::int64_t index, std::int64_t skip, RawTile& tile) {
  const std::size_t skipped = static_cast<std::size_t>(skip) * chunk_row_bytes();
  const std::size_t length = static_cast<std::size_t>(tile.rows) * chunk_row_bytes();
  if (storage_ == Storage::plain_chunks) {
    const ChunkLocation& at = chunk_location(file, index);
    tile.bytes = at.bytes == 0 ? fill_bytes(file) : fetch_bytes(file, at.address + skipped, length);
    return false;
  }
  for (const KeptChunk& chunk : kept_) {
    if (chunk.index == index) tile.bytes = chunk.bytes;
  }
  if (!tile.bytes) tile.bytes = encoded_chunk(file, index);
  if (!tile.bytes) {
    tile.bytes = fill_bytes(file);
    return false;
  }
  tile.offset = skipped;
  return true;
}

ChunkEncoding StoredArray::chunk_encoding(const Hdf5File& file, std::int64_t first, unsigned skipped) const {
  const auto applied = [&](int filter) { return filter >= 0 && (skipped & (1U << filter)) == 0; };
  ChunkEncoding encoding;
  encoding.shuffled = applied(shuffle_filter_) && element_size(element_) > 1;
  encoding.deflated = applied(deflate_filter_);
  encoding.element_size = element_size(element_);
  encoding.decoded_bytes = chunk_bytes();
  encoding.pool = file.pool;
  encoding.path = file.path;
  encoding.dataset = name_;
  encoding.first_row = first;
  encoding.last_row = std::min(first + chunk_rows_, rows_) - 1;
  return encoding;
}

std::shared_ptr<RawBytes> StoredArray::encoded_chunk(const Hdf5File& file, std::int64_t index) {
  const std::int64_t first = index / chunks_across() * chunk_rows_;
  if (located_) {
    const ChunkLocation& at = chunk_location(file, index);
    if (at.bytes == 0) return nullptr;
    require_inside(file, at.address, at.bytes);
    return std::make_shared<ChunkBytes>(FileRange(file.descriptor, at.address, at.bytes, place(file)),
                                        chunk_encoding(file, first, at.skipped_filters));
  }
  const hsize_t corner[2] = {static_cast<hsize_t>(first),
                             static_cast<hsize_t>(index % chunks_across() * chunk_columns_)};
  hsize_t stored = 0;
  if (H5Dget_chunk_storage_size(dataset_.get(), corner, &stored) < 0) {
    // Also what HDF5 says of a chunk that was never written; the slow way of asking tells the two apart.
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    const std::string why = hdf5::take_error_text();
    if (H5Dget_chunk_info_by_coord(dataset_.get(), corner, &mask, &address, &stored) >= 0 && address == HADDR_UNDEF) {
      return nullptr;
    }
    throw Error(ErrorKind::data, fmt::format("the chunk at row {} cannot be found: {}", first, why), place(file));
  }
  if (stored == 0) return nullptr;
  if (stored > static_cast<hsize_t>(file.bytes)) {
    throw Error(ErrorKind::data,
                fmt::format("the chunk at row {} claims {} bytes in a file of {}: the file is damaged", first, stored,
                            file.bytes),
                place(file));
  }
  BufferPool::Buffer raw = file.pool->take(stored);
  std::uint32_t skipped = 0;
  if (H5Dread_chunk(dataset_.get(), H5P_DEFAULT, corner, &skipped, raw.get()) < 0) {
    hdf5::fail(ErrorKind::data, fmt::format("the chunk at row {} cannot be read", first), place(file));
  }
  return std::make_shared<ChunkBytes>(std::move(raw), stored, chunk_encoding(file, first, skipped));
}

std::shared_ptr<RawBytes> StoredArray::fill_bytes(const Hdf5File& file) const {
  const hdf5::Handle creation(H5Dget_create_plist(dataset_.get()), H5Pclose);
  const hdf5::Handle type(H5Dget_type(dataset_.get()), H5Tclose);
  std::byte value[8] = {};
  if (H5Pget_fill_value(creation.get(), type.get(), value) < 0) {
    hdf5::fail(ErrorKind::data, "has rows that were never written and no value to fill them with", place(file));
  }
  return std::make_shared<FillBytes>(value, element_size(element_));
}

const StoredArray::ChunkLocation& StoredArray::chunk_location(const Hdf5File& file, std::int64_t index) {
  if (chunk_locations_.empty()) {
    chunk_locations_.resize(static_cast<std::size_t>((rows_ + chunk_rows_ - 1) / chunk_rows_ * chunks_across()));
  }
  ChunkLocation& at = chunk_locations_[static_cast<std::size_t>(index)];
  if (at.known) return at;
  const hsize_t corner[2] = {static_cast<hsize_t>(index / chunks_across() * chunk_rows_),
                             static_cast<hsize_t>(index % chunks_across() * chunk_columns_)};
  unsigned skipped = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  if (H5Dget_chunk_info_by_coord(dataset_.get(), corner, &skipped, &address, &bytes) < 0) {
    hdf5::fail(ErrorKind::data, fmt::format("the chunk at row {} cannot be found", corner[0]), place(file));
  }
  if (address == HADDR_UNDEF) bytes = 0;
  if (storage_ == Storage::plain_chunks && bytes != 0 && bytes != chunk_bytes()) {
    throw Error(ErrorKind::data,
                fmt::format("the chunk at row {} has {} bytes instead of {}: the file is damaged", corner[0], bytes,
                            chunk_bytes()),
                place(file));
  }
  at = {address, bytes, skipped, true};
  return at;
}

}  // namespace scrm
