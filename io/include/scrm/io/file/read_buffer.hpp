/// ReadBuffer: what one thread reads a dataset of a file into, a piece at a time, so that the piece is still in its
/// cache when it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace scrm {

struct FileRange;

class ReadBuffer {
 public:
  /// Pieces of this size are best: below L2, far above the cost of a system call. Larger ones make the buffer grow.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  /// Reads up to `ahead` bytes at once: a block's share of a column of numbers is small change for the system.
  explicit ReadBuffer(std::size_t ahead = kPieceBytes);
  ~ReadBuffer();
  ReadBuffer(ReadBuffer&&) noexcept;
  ReadBuffer& operator=(ReadBuffer&&) noexcept;

  /// Bytes [from, from + length) of the range, valid until the next call; what follows them in the range is read along
  /// when they are few. Throws an Error when the file ends before them or cannot be read.
  const std::byte* read(const FileRange& range, std::size_t from, std::size_t length);

  /// Room for `length` bytes, valid until the next call.
  std::byte* space(std::size_t length);

  /// Bytes a buffer holds when no piece is longer than `piece`.
  static std::size_t bytes(std::size_t piece) noexcept;

 private:
  std::size_t ahead_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
  // What it holds, and where: bytes [begin_, end_) of a range.
  std::byte* held_ = nullptr;
  std::uint64_t range_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace scrm
