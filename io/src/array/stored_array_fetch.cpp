#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "array/stored_array.hpp"

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
  const ArrayFacts& facts = *facts_;
  const std::int64_t end = first + rows;
  const std::int64_t across = facts.chunks_across();
  const std::int64_t first_chunk = first / facts.chunk_rows * across;
  const std::int64_t end_chunk = ((end - 1) / facts.chunk_rows + 1) * across;
  const bool plain = facts.storage == Storage::plain_chunks;
  std::vector<std::shared_ptr<RawBytes>> encoded;
  if (!plain) encoded = encoded_chunks(file, first_chunk, end_chunk - first_chunk);
  kept_.clear();
  for (std::int64_t index = first_chunk; index < end_chunk; ++index) {
    const std::int64_t begin = index / across * facts.chunk_rows;
    RawTile tile;
    tile.row = std::max(first, begin);
    tile.rows = std::min({end, begin + facts.chunk_rows, facts.rows}) - tile.row;
    tile.column = index % across * facts.chunk_columns;
    tile.columns = std::min(facts.chunk_columns, facts.width - tile.column);
    tile.row_bytes = facts.chunk_row_bytes();
    const std::size_t skipped = static_cast<std::size_t>(tile.row - begin) * tile.row_bytes;
    if (plain) {
      tile.bytes =
          fetch_bytes(file, facts.chunk(index).address + skipped, static_cast<std::size_t>(tile.rows) * tile.row_bytes);
    } else {
      tile.bytes = encoded[static_cast<std::size_t>(index - first_chunk)];
      tile.offset = skipped;
      if (std::min(begin + facts.chunk_rows, facts.rows) > end) kept_.push_back({index, tile.bytes});
    }
    tiles.push_back(std::move(tile));
  }
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

std::vector<std::shared_ptr<RawBytes>> StoredArray::encoded_chunks(const Hdf5File& file, std::int64_t first,
                                                                   std::int64_t count) {
  std::vector<std::shared_ptr<RawBytes>> chunks;
  // What was kept reached beyond the rows before these: it comes first, if these follow them.
  for (const KeptChunk& kept : kept_) {
    if (kept.index == first + static_cast<std::int64_t>(chunks.size())) chunks.push_back(kept.bytes);
  }
  const std::int64_t next = first + static_cast<std::int64_t>(chunks.size());
  const auto row_of = [&](std::int64_t index) { return index / facts_->chunks_across() * facts_->chunk_rows; };
  if (facts_->located) {
    for (std::int64_t index = next; index < first + count; ++index) {
      const ChunkLocation at = facts_->chunk(index);
      ChunkEncoding encoding = chunk_encoding(file, row_of(index), at.skipped_filters);
      if (at.bytes >= kMinDeferred) {
        chunks.push_back(std::make_shared<ChunkBytes>(FileRange(file.descriptor(), at.address, at.bytes, place(file)),
                                                      std::move(encoding)));
        continue;
      }
      // Rows of many small shards are fetched together: their files need not all stay open until they are decoded.
      BufferPool::Buffer raw = file.pool()->take(at.bytes);
      read_all_at(*file.descriptor(), raw.get(), at.bytes, at.address, place(file));
      chunks.push_back(std::make_shared<ChunkBytes>(std::move(raw), at.bytes, std::move(encoding)));
    }
  } else if (next < first + count) {
    std::int64_t index = next;
    for (StoredChunk& chunk : file.read_chunks(*facts_, next, first + count - next)) {
      chunks.push_back(std::make_shared<ChunkBytes>(std::move(chunk.bytes), chunk.length,
                                                    chunk_encoding(file, row_of(index++), chunk.skipped_filters)));
    }
  }
  return chunks;
}

}  // namespace scrm
