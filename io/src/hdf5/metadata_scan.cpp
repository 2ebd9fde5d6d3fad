#include "hdf5/metadata_scan.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "file/fields.hpp"

namespace scrm {
namespace {

// What is looked at on either end of an extent: more than any node, and than an address is likely to be off by.
constexpr std::uint64_t kWindow = 4096;
// Of a structure, as much as it is known by.
constexpr std::size_t kHead = 24;

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i > 0; --i) value = value << 8U | static_cast<unsigned char>(bytes[at + i - 1]);
  return value;
}

/// An address inside of the file, or HDF5's word for none.
bool may_be_address(std::string_view head, std::size_t at, std::uint64_t file_bytes) {
  const std::uint64_t address = get_u64(head.substr(at));
  return address < file_bytes || address == ~std::uint64_t{0};
}

/// Whether these bytes begin a node of a tree or of a group, or a heap, as HDF5's file format has them.
bool is_metadata(std::string_view head, std::uint64_t file_bytes) {
  constexpr std::uint64_t kMostLevels = 16, kMostEntries = 4096;
  const std::string_view name = head.substr(0, 4);
  if (name == "TREE")  // kind, level, entries, neighbours
    return little_endian(head, 4, 1) <= 1 && little_endian(head, 5, 1) < kMostLevels &&
           little_endian(head, 6, 2) <= kMostEntries && may_be_address(head, 8, file_bytes) &&
           may_be_address(head, 16, file_bytes);
  if (name == "SNOD")  // version, nothing, entries
    return little_endian(head, 4, 1) == 1 && little_endian(head, 5, 1) == 0 &&
           little_endian(head, 6, 2) <= kMostEntries;
  if (name == "HEAP" || name == "GCOL")  // version, nothing, size
    return little_endian(head, 4, 1) == (name == "GCOL" ? 1 : 0) && little_endian(head, 5, 3) == 0 &&
           get_u64(head.substr(8)) <= file_bytes;
  return false;
}

std::optional<std::uint64_t> find_in_window(const Descriptor& file, std::uint64_t begin, std::uint64_t end,
                                            std::uint64_t file_bytes) {
  std::array<char, kWindow + kHead> buffer{};
  // A structure that begins before the end counts, though it may go on behind it.
  const ssize_t got = read_at(file, buffer.data(), buffer.size(), static_cast<std::int64_t>(begin));
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  // Name by name, since the C library looks for one byte at a time far faster than a loop does for four; the structure
  // that begins first is the one found.
  std::optional<std::uint64_t> found;
  for (const std::string_view name : {"TREE", "SNOD", "HEAP", "GCOL"}) {
    const std::uint64_t before = found.value_or(end);
    for (std::size_t at = bytes.find(name); at < bytes.size() && begin + at < before; at = bytes.find(name, at + 1)) {
      if (at + kHead > bytes.size()) break;
      if (!is_metadata(bytes.substr(at, kHead), file_bytes)) continue;
      found = begin + at;
      break;
    }
  }
  return found;
}

}  // namespace

Extent header_extent(const Descriptor& file, std::uint64_t address, std::uint64_t file_bytes) {
  constexpr std::uint64_t kPrefix = 16, kMostBytes = std::uint64_t{1} << 20;
  std::array<char, kPrefix> prefix{};
  const Extent least{address, address + kPrefix};
  if (read_at(file, prefix.data(), prefix.size(), static_cast<std::int64_t>(address)) !=
      static_cast<ssize_t>(prefix.size()))
    return least;
  const std::string_view bytes(prefix.data(), prefix.size());
  // Of the older format; the newer one has a checksum.
  if (little_endian(bytes, 0, 2) != 1) return least;
  const std::uint64_t size = little_endian(bytes, 8, 4);
  return size <= kMostBytes && least.end + size <= file_bytes ? Extent{address, least.end + size} : least;
}

std::optional<std::uint64_t> find_metadata(const Descriptor& file, const Extent& extent, std::uint64_t file_bytes) {
  const auto first = find_in_window(file, extent.begin, std::min(extent.end, extent.begin + kWindow), file_bytes);
  if (first || extent.end - extent.begin <= kWindow) return first;
  return find_in_window(file, std::max(extent.begin + kWindow, extent.end - kWindow), extent.end, file_bytes);
}

}  // namespace scrm
