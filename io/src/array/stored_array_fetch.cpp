#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "array/stored_array.hpp"
#include "file/fields.hpp"

namespace scrm {

RawArray StoredArray::fetch(const Hdf5File& file, std::int64_t first, std::int64_t rows) {
  RawArray array;
  array.element = element();
  if (rows == 0 || facts_->width == 0) return array;
  switch (facts_->storage) {
    case Storage::contiguous: {
      const std::uint64_t address =
          static_cast<std::uint64_t>(facts_->address) + static_cast<std::uint64_t>(first) * facts_->row_bytes();
      auto bytes = fetch_bytes(file, address, static_cast<std::size_t>(rows) * facts_->row_bytes());
      array.tiles.push_back({first, rows, 0, facts_->width, facts_->row_bytes(), 0, std::move(bytes)});
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

std::shared_ptr<RawBytes> StoredArray::fetch_bytes(const Hdf5File& file, std::uint64_t address,
                                                   std::size_t length) const {
  if (length >= kMinDeferred)
    return std::make_shared<FileBytes>(FileRange(file.descriptor(), address, length, place(file)));
  auto copy = std::make_shared<OwnedBytes>(length);
  read_all_at(*file.descriptor(), copy->data(), length, address, place(file));
  return copy;
}

RawTile StoredArray::fetch_by_hdf5(const Hdf5File& file, std::int64_t first, std::int64_t rows) const {
  const std::string read = file.read_rows(*facts_, first, rows);
  auto bytes = std::make_shared<OwnedBytes>(read.size());
  std::memcpy(bytes->data(), read.data(), read.size());
  return {first, rows, 0, width(), facts_->row_bytes(), 0, std::move(bytes)};
}

std::vector<std::int64_t> StoredArray::read_integers(const Hdf5File& file, std::int64_t first, std::int64_t rows) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows));
  ReadBuffer buffer;
  const RawArray raw = fetch(file, first, rows);
  for (const RawTile& tile : raw.tiles) {
    const std::size_t bytes = static_cast<std::size_t>(tile.rows) * tile.row_bytes;
    const std::byte* from = tile.bytes->data_at(tile.offset, bytes, buffer);
    std::int64_t* out = numbers.data() + (tile.row - first);
    visit_element(raw.element, [&](auto zero) {
      for (std::int64_t i = 0; i < tile.rows; ++i) {
        std::memcpy(&zero, from + static_cast<std::size_t>(i) * tile.row_bytes, sizeof zero);
        out[i] = static_cast<std::int64_t>(zero);
      }
    });
  }
  return numbers;
}

std::vector<std::int64_t> StoredArray::read_offsets(const Hdf5File& file, std::int64_t first, std::int64_t rows,
                                                    std::int64_t entries) {
  std::vector<std::int64_t> offsets = read_integers(file, first, rows + 1);
  const auto bad = [&](std::size_t i, const std::string& why) {
    const std::int64_t row = first + static_cast<std::int64_t>(i);
    throw Error(ErrorKind::data, why, {.file = *file.path(), .dataset = name(), .row = row});
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
  for (std::int64_t band = first / facts_->chunk_rows; band * facts_->chunk_rows < end; ++band) {
    const std::int64_t begin = band * facts_->chunk_rows;
    for (std::int64_t across = 0; across < facts_->chunks_across(); ++across) {
      RawTile tile;
      tile.row = std::max(first, begin);
      tile.rows = std::min({end, begin + facts_->chunk_rows, facts_->rows}) - tile.row;
      tile.column = across * facts_->chunk_columns;
      tile.columns = std::min(facts_->chunk_columns, facts_->width - tile.column);
      tile.row_bytes = facts_->chunk_row_bytes();
      const std::int64_t index = band * facts_->chunks_across() + across;
      const bool whole = fetch_chunk(file, index, tile.row - begin, tile);
      if (whole && std::min(begin + facts_->chunk_rows, facts_->rows) > end) kept.push_back({index, tile.bytes});
      tiles.push_back(std::move(tile));
    }
  }
  kept_ = std::move(kept);
}

bool StoredArray::fetch_chunk(const Hdf5File& file, std::int64_t index, std::int64_t skip, RawTile& tile) {
  const std::size_t skipped = static_cast<std::size_t>(skip) * facts_->chunk_row_bytes();
  const std::size_t length = static_cast<std::size_t>(tile.rows) * facts_->chunk_row_bytes();
  if (facts_->storage == Storage::plain_chunks) {
    const ChunkLocation at = facts_->chunk(index);
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

ChunkEncoding StoredArray::chunk_encoding(const Hdf5File& file, std::int64_t first, std::uint64_t skipped) const {
  const auto applied = [&](std::int64_t filter) { return filter >= 0 && ((skipped >> filter) & 1U) == 0; };
  ChunkEncoding encoding;
  encoding.shuffled = applied(facts_->shuffle_filter) && element_size(element()) > 1;
  encoding.deflated = applied(facts_->deflate_filter);
  encoding.element_size = element_size(element());
  encoding.decoded_bytes = facts_->chunk_bytes();
  encoding.pool = file.pool();
  encoding.path = file.path();
  encoding.dataset = name();
  encoding.first_row = first;
  encoding.last_row = std::min(first + facts_->chunk_rows, facts_->rows) - 1;
  return encoding;
}

std::shared_ptr<RawBytes> StoredArray::encoded_chunk(const Hdf5File& file, std::int64_t index) {
  const std::int64_t first = index / facts_->chunks_across() * facts_->chunk_rows;
  if (facts_->located) {
    const ChunkLocation at = facts_->chunk(index);
    if (at.bytes == 0) return nullptr;
    return std::make_shared<ChunkBytes>(FileRange(file.descriptor(), at.address, at.bytes, place(file)),
                                        chunk_encoding(file, first, at.skipped_filters));
  }
  constexpr std::size_t kHead = sizeof(std::uint64_t);
  const std::string read = file.read_chunk(*facts_, index);
  if (read.size() <= kHead) return nullptr;
  BufferPool::Buffer raw = file.pool()->take(read.size() - kHead);
  std::memcpy(raw.get(), read.data() + kHead, read.size() - kHead);
  return std::make_shared<ChunkBytes>(std::move(raw), read.size() - kHead, chunk_encoding(file, first, get_u64(read)));
}

std::shared_ptr<RawBytes> StoredArray::fill_bytes(const Hdf5File& file) const {
  if (facts_->fill.empty())
    throw Error(ErrorKind::data, "has rows that were never written and no value to fill them with", place(file));
  return std::make_shared<FillBytes>(reinterpret_cast<const std::byte*>(facts_->fill.data()), facts_->fill.size());
}

}  // namespace scrm
