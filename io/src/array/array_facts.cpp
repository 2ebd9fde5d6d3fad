#include "array/array_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "file/fields.hpp"

namespace scrm {
namespace {

// Bytes at the beginning of every file that say what it is.
constexpr std::uint64_t kLeastSuperblock = 48;

/// The one list of fields, so that writing and reading cannot differ.
template <class Facts, class Direction>
void each_field(Facts& facts, Direction& direction) {
  direction.field(facts.name);
  direction.field(facts.object);
  direction.field(facts.rank);
  direction.field(facts.rows);
  direction.field(facts.width);
  direction.field(facts.elsewhere);
  direction.field(facts.address);
  direction.field(facts.stored_bytes);
  direction.field(facts.chunk_rows);
  direction.field(facts.chunk_columns);
  direction.field(facts.filters);
  direction.field(facts.shuffle_filter);
  direction.field(facts.deflate_filter);
  direction.field(facts.located);
  direction.field(facts.chunks);
  direction.field(facts.hdf5_cache);
}

[[noreturn]] void fail(const std::string& what, const Place& place) {
  throw Error(ErrorKind::data, what + ": the file is damaged", place);
}

/// HDF5 would make up numbers for rows that are not there.
[[noreturn]] void fail_unwritten(std::int64_t row, const Place& place) {
  throw Error(ErrorKind::data,
              fmt::format("row {} and others after it were never written: write them, zeros included (or the file is "
                          "damaged)",
                          row),
              place);
}

void check_range(std::uint64_t address, std::uint64_t length, std::int64_t file_bytes, const Place& place) {
  const auto size = static_cast<std::uint64_t>(file_bytes);
  if (address <= size && length <= size - address) return;
  throw Error(ErrorKind::data,
              fmt::format("lies at bytes {} to {} of a file that has only {}: the file was cut short, or is damaged",
                          address, address + length, size),
              place);
}

void check_shape(const ArrayFacts& facts, std::int64_t file_bytes, const Place& place) {
  // Deflate makes nothing smaller than a thousandth.
  constexpr double kMostPerByte = 1100;
  // Elsewhere may be more than here, but not more than any disk.
  constexpr double kMostElsewhere = 0x1p56;
  const double claimed = static_cast<double>(facts.rows) * static_cast<double>(std::max<std::int64_t>(facts.width, 1)) *
                         static_cast<double>(element_size(facts.element));
  const double possible = facts.elsewhere ? kMostElsewhere : kMostPerByte * static_cast<double>(file_bytes);
  if (facts.rows < 0 || facts.width < 0 || claimed > possible)
    fail(fmt::format("claims {} rows of {} in a file of {} bytes", facts.rows, facts.width, file_bytes), place);
}

void check_chunks(const ArrayFacts& facts, std::int64_t file_bytes, const Place& place) {
  constexpr double kMostBytes = 4294967296.0;  // HDF5 itself allows no more
  const double bytes = static_cast<double>(facts.chunk_rows) * static_cast<double>(facts.chunk_columns) *
                       static_cast<double>(element_size(facts.element));
  if (facts.chunk_rows < 1 || facts.chunk_columns < 1 || bytes >= kMostBytes)
    fail(fmt::format("claims chunks of {} x {}", facts.chunk_rows, facts.chunk_columns), place);
  if (!facts.located) return;
  const std::int64_t count = facts.chunks_down() * facts.chunks_across();
  if (static_cast<std::int64_t>(facts.chunks.size()) != 3 * count)
    fail(fmt::format("has {} chunks where {} belong", facts.chunks.size() / 3, count), place);
  for (std::int64_t i = 0; i < count; ++i) {
    const ChunkLocation at = facts.chunk(i);
    if (at.bytes == 0) fail_unwritten(i / facts.chunks_across() * facts.chunk_rows, place);
    if (facts.storage == Storage::plain_chunks && at.bytes != facts.chunk_bytes())
      fail(fmt::format("the chunk at row {} has {} bytes instead of {}", i / facts.chunks_across() * facts.chunk_rows,
                       at.bytes, facts.chunk_bytes()),
           place);
    check_range(at.address, at.bytes, file_bytes, place);
    // Who writes a chunk past all filters skips all of them, and HDF5 leaves out deflate where nothing gets smaller;
    // but nobody leaves out the shuffling alone.
    const auto skipped = [&](std::int64_t filter) { return filter >= 0 && ((at.skipped_filters >> filter) & 1U) != 0; };
    const std::uint64_t all = (std::uint64_t{1} << std::clamp<std::int64_t>(facts.filters, 0, 32)) - 1;
    if (at.skipped_filters > all || (facts.filters > 0 && at.skipped_filters == all && at.bytes != facts.chunk_bytes()))
      fail(fmt::format("the chunk at row {} claims to be stored without filters",
                       i / facts.chunks_across() * facts.chunk_rows),
           place);
    if (skipped(facts.shuffle_filter) && facts.deflate_filter >= 0 && !skipped(facts.deflate_filter))
      fail(fmt::format("the chunk at row {} claims not to be shuffled", i / facts.chunks_across() * facts.chunk_rows),
           place);
  }
}

}  // namespace

std::string serialize_facts(const ArrayFacts& facts) {
  FieldWriter writer;
  writer.field(static_cast<std::int64_t>(facts.element));
  writer.field(static_cast<std::int64_t>(facts.storage));
  each_field(facts, writer);
  return std::move(writer.bytes);
}

ArrayFacts deserialize_facts(std::string_view bytes, const Place& place) {
  ArrayFacts facts;
  std::int64_t element = 0;
  std::int64_t storage = 0;
  FieldReader reader(bytes);
  reader.field(element);
  reader.field(storage);
  each_field(facts, reader);
  if (!reader.good() || element < 0 || element > static_cast<std::int64_t>(Element::f64) || storage < 0 ||
      storage > static_cast<std::int64_t>(Storage::by_hdf5))
    fail("HDF5 cannot say what it is", place);
  facts.element = static_cast<Element>(element);
  facts.storage = static_cast<Storage>(storage);
  return facts;
}

void check_facts(const ArrayFacts& facts, std::int64_t file_bytes, const Place& place) {
  if (facts.rank < 1 || facts.rank > 2) fail(fmt::format("has {} dimensions", facts.rank), place);
  check_shape(facts, file_bytes, place);
  if (facts.chunk_rows != 0 || facts.storage == Storage::plain_chunks || facts.storage == Storage::encoded_chunks)
    check_chunks(facts, file_bytes, place);
  if (facts.storage == Storage::contiguous &&
      static_cast<std::uint64_t>(facts.stored_bytes) != static_cast<std::uint64_t>(facts.rows) * facts.row_bytes())
    fail(fmt::format("has {} bytes, which are not {} rows of {}", facts.stored_bytes, facts.rows, facts.width), place);
  if (facts.stored_bytes != 0)
    check_range(static_cast<std::uint64_t>(facts.address), static_cast<std::uint64_t>(facts.stored_bytes), file_bytes,
                place);
  std::vector<Extent> extents = extents_of(facts);
  for (const Extent& extent : extents) {
    if (extent.begin < kLeastSuperblock) fail("has rows where the file's own description is", place);
  }
  if (const std::size_t i = find_overlap(extents); i < extents.size())
    fail(fmt::format("two of its chunks share the bytes {} to {}", extents[i + 1].begin,
                     std::min(extents[i].end, extents[i + 1].end)),
         place);
}

std::vector<Extent> extents_of(const ArrayFacts& facts) {
  std::vector<Extent> extents;
  if (facts.stored_bytes > 0) {
    const auto begin = static_cast<std::uint64_t>(facts.address);
    extents.push_back({begin, begin + static_cast<std::uint64_t>(facts.stored_bytes)});
  }
  for (std::size_t i = 0; i < facts.chunks.size() / 3; ++i) {
    const ChunkLocation at = facts.chunk(static_cast<std::int64_t>(i));
    extents.push_back({at.address, at.address + at.bytes});
  }
  return extents;
}

std::size_t find_overlap(std::vector<Extent>& extents) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) {
    if (extents[i + 1].begin < extents[i].end) return i;
  }
  return extents.size();
}

}  // namespace scrm
