// labels: fast io
#include "hdf5/metadata_scan.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <random>
#include <string>

#include "file/fields.hpp"
#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::string random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string tree_node(std::uint64_t left) {
  std::string node("TREE\1\0\6\0", 8);
  put_u64(node, left);
  put_u64(node, ~std::uint64_t{0});
  return node;
}

std::string heap(const char* name, char version) {
  std::string bytes = name;
  bytes += std::string{version, '\0', '\0', '\0'};
  put_u64(bytes, 4096);
  return bytes;
}

}  // namespace

TEST_CASE("metadata scan: structures of HDF5 are found near both ends of what is said to be rows") {
  const Folder folder;
  constexpr std::size_t kBytes = 40'000;
  const std::string rows = random_bytes(kBytes, 1);
  const Extent extent{1000, 39'000};
  const std::vector<std::string> structures = {tree_node(~std::uint64_t{0}), tree_node(500),
                                               std::string("SNOD\1\0\4\0", 8), heap("HEAP", '\0'), heap("GCOL", '\1')};
  for (const std::string& structure : structures) {
    for (const std::size_t at : {1000, 1001, 5000, 36'000, 38'990}) {
      std::string bytes = rows;
      bytes.replace(at, structure.size(), structure);
      write_bytes(folder / "a.h5", bytes);
      const Descriptor file(folder / "a.h5", O_RDONLY);
      CAPTURE(structure.substr(0, 4));
      CAPTURE(at);
      CHECK(find_metadata(file, extent, kBytes) == at);
      CHECK_FALSE(find_metadata(file, {at + structure.size(), at + structure.size() + 100}, kBytes));
    }
  }
}

TEST_CASE("metadata scan: rows are not taken for structures, whatever words they hold") {
  const Folder folder;
  std::string bytes = random_bytes(1 << 20, 2);
  for (std::size_t at = 0; at + 64 < bytes.size(); at += 64)  // names alone do not make one
    bytes.replace(at, 4, at % 256 == 0 ? "TREE" : at % 256 == 64 ? "HEAP" : at % 256 == 128 ? "GCOL" : "TREE");
  write_bytes(folder / "a.h5", bytes);
  const Descriptor file(folder / "a.h5", O_RDONLY);
  for (std::uint64_t begin = 0; begin < bytes.size(); begin += 8192)
    CHECK_FALSE(find_metadata(file, {begin, begin + 8192}, bytes.size()));
  // A file that was cut short meanwhile has nothing to find.
  CHECK_FALSE(find_metadata(file, {bytes.size() + 5, bytes.size() + 9000}, bytes.size()));
}

TEST_CASE("metadata scan: of several structures the first is found, whatever comes before it and behind") {
  const Folder folder;
  const std::vector<std::string> structures = {tree_node(500), std::string("SNOD\1\0\4\0", 8), heap("HEAP", '\0'),
                                               heap("GCOL", '\1')};
  for (const std::string& first : structures) {
    for (const std::string& second : structures) {
      std::string bytes = random_bytes(40'000, 3);
      bytes.replace(1500, 4, first.substr(0, 4));  // a name alone
      bytes.replace(2000, first.size(), first);
      bytes.replace(2100, second.size(), second);
      write_bytes(folder / "a.h5", bytes);
      const Descriptor file(folder / "a.h5", O_RDONLY);
      CAPTURE(first.substr(0, 4));
      CAPTURE(second.substr(0, 4));
      CHECK(find_metadata(file, {1000, 39'000}, bytes.size()) == std::optional<std::uint64_t>(2000));
      CHECK_FALSE(find_metadata(file, {1000, 2000}, bytes.size()));
    }
  }
}

TEST_CASE("metadata scan: a header of the older format says how long it is, and others have sixteen bytes at least") {
  const Folder folder;
  std::string bytes(4096, '\0');
  bytes[100] = 1;   // version
  bytes[108] = 64;  // bytes behind the first sixteen
  bytes[200] = 1;   // one that claims to be longer than the file
  bytes.replace(208, 4, "\xff\xff\xff\x7f");
  bytes.replace(300, 4, "OHDR");
  write_bytes(folder / "a.h5", bytes);
  const Descriptor file(folder / "a.h5", O_RDONLY);
  CHECK(header_extent(file, 100, bytes.size()).end == 100 + 16 + 64);
  CHECK(header_extent(file, 200, bytes.size()).end == 216);
  CHECK(header_extent(file, 300, bytes.size()).end == 316);
  CHECK(header_extent(file, 5000, bytes.size()).end == 5016);
}
