/// ReadBuffer: what one thread reads from files into, a piece at a time, so that the piece is still in its cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace scrm {

class Descriptor;
struct Place;

class ReadBuffer {
 public:
  ReadBuffer();
  ~ReadBuffer();
  ReadBuffer(ReadBuffer&&) noexcept;
  ReadBuffer& operator=(ReadBuffer&&) noexcept;

  /// Pieces of this size are best: far below L2, far above the cost of a system call. Larger ones make the buffer grow.
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

  /// Bytes [offset, offset + length) of the file, valid until the next call. Throws an Error at this place when the
  /// file ends before them or cannot be read.
  const std::byte* read(const Descriptor& file, std::uint64_t offset, std::size_t length, const Place& place);

  /// Room for `length` bytes, valid until the next call.
  std::byte* space(std::size_t length);

  /// Bytes a buffer holds when no piece is longer than `piece`.
  static std::size_t bytes(std::size_t piece) noexcept;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace scrm
