// labels: fast io
#include "scrm/io/file/read_buffer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "file/file_range.hpp"
#include "support/files.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::string text(const std::byte* bytes, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes), length};
}

std::shared_ptr<const Descriptor> file_with(const std::string& path, const std::string& bytes) {
  const auto file = std::make_shared<const Descriptor>(path, O_RDWR | O_CREAT | O_TRUNC);
  REQUIRE(write_at(*file, bytes, 0) == 0);
  return file;
}

std::string numbered(std::size_t length) {
  std::string bytes(length, '\0');
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(i * 2654435761U >> 7);
  return bytes;
}

/// Bytes that this process has asked the system for so far; 0 where it does not say.
std::int64_t bytes_read() {
  std::ifstream status("/proc/self/io");
  std::string name;
  std::int64_t count = 0;
  return status >> name >> count && name == "rchar:" ? count : 0;
}

}  // namespace

TEST_CASE("read buffer: any part of a range, in any order, small and large") {
  const Folder folder;
  const std::string bytes = numbered(1'000'000);
  const auto file = file_with(folder / "bytes", bytes);
  const FileRange range(file, 1003, 900'000, {.file = "bytes"});
  ReadBuffer buffer;
  for (const std::size_t from :
       {std::size_t{0}, std::size_t{16}, std::size_t{70'000}, std::size_t{5}, std::size_t{899'990}}) {
    for (const std::size_t length : {std::size_t{1}, std::size_t{10}, std::size_t{300'000}}) {
      if (from + length > 900'000) continue;
      CAPTURE(from);
      CAPTURE(length);
      CHECK(text(buffer.read(range, from, length), length) == bytes.substr(1003 + from, length));
    }
  }
  CHECK(text(buffer.read(range, 0, 900'000), 900'000) == bytes.substr(1003, 900'000));
}

TEST_CASE("read buffer: as many whole pieces at once as it may read ahead, and no byte twice") {
  const Folder folder;
  const std::string bytes = numbered(1'000'000);
  const auto file = file_with(folder / "bytes", bytes);
  const FileRange range(file, 1003, 900'000, {.file = "bytes"});
  constexpr std::size_t kPiece = 100'000;
  ReadBuffer buffer(3 * kPiece + kPiece / 2);
  const std::byte* first = nullptr;
  const std::int64_t before = bytes_read();
  for (std::size_t piece = 0; piece < 9; ++piece) {
    CAPTURE(piece);
    const std::byte* at = buffer.read(range, piece * kPiece, kPiece);
    if (piece % 3 == 0) first = at;
    CHECK(at == first + piece % 3 * kPiece);  // the same reading goes on
    CHECK(text(at, kPiece) == bytes.substr(1003 + piece * kPiece, kPiece));
    CHECK(text(buffer.read(range, piece * kPiece, 0), 0).empty());
  }
  CHECK(bytes_read() - before < 900'000 + 10'000);  // and what /proc takes
}

TEST_CASE("read buffer: what it holds of one range is never taken for another's") {
  const Folder folder;
  ReadBuffer buffer;
  for (const char letter : {'a', 'b', 'c'}) {
    // The same place of another file, whose descriptor may well have the number and the address of the last one.
    const auto file = file_with(folder / std::string(1, letter), std::string(5000, letter));
    const FileRange range(file, 100, 1000, {.file = "x"});
    CHECK(text(buffer.read(range, 7, 20), 20) == std::string(20, letter));
    std::memset(buffer.space(50), '?', 50);
    CHECK(text(buffer.read(range, 7, 20), 20) == std::string(20, letter));
  }
}

TEST_CASE("read buffer: a file that ends too early is an error that names it") {
  const Folder folder;
  const auto file = file_with(folder / "bytes", std::string(500, 'x'));
  const FileRange range(file, 100, 1000, {.file = "bytes", .dataset = "loss"});
  ReadBuffer buffer;
  CHECK_THROWS_WITH_AS(buffer.read(range, 0, 10),
                       "bytes: loss: cannot be read to its end: it was cut short while it was read", Error);
}
