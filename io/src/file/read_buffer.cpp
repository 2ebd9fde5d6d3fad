#include "scrm/io/read_buffer.hpp"

#include <algorithm>
#include <new>

#include "file/descriptor.hpp"

namespace scrm {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

ReadBuffer::ReadBuffer() = default;
ReadBuffer::~ReadBuffer() = default;
ReadBuffer::ReadBuffer(ReadBuffer&&) noexcept = default;
ReadBuffer& ReadBuffer::operator=(ReadBuffer&&) noexcept = default;

void ReadBuffer::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete[](memory, std::align_val_t{kPage});
}

std::size_t ReadBuffer::bytes(std::size_t piece) noexcept {
  return std::max(piece, kPieceBytes) + kPage;
}

std::byte* ReadBuffer::space(std::size_t length) {
  if (size_ < bytes(length)) {
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(::operator new[](bytes(length), std::align_val_t{kPage})));
    size_ = bytes(length);
  }
  return memory_.get();
}

const std::byte* ReadBuffer::read(const Descriptor& file, std::uint64_t offset, std::size_t length,
                                  const Place& place) {
  // The same place in its page as in the file's: some processors copy five times slower to an address that lies a few
  // bytes further into a page than the source does.
  std::byte* const to = space(length) + offset % kPage;
  read_all_at(file, to, length, offset, place);
  return to;
}

}  // namespace scrm
