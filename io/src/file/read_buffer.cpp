#include "scrm/io/file/read_buffer.hpp"

#include <algorithm>

#include "file/file_range.hpp"

namespace scrm {

ReadBuffer::ReadBuffer(std::size_t ahead) : ahead_(ahead) {}
ReadBuffer::~ReadBuffer() = default;
ReadBuffer::ReadBuffer(ReadBuffer&&) noexcept = default;
ReadBuffer& ReadBuffer::operator=(ReadBuffer&&) noexcept = default;

std::size_t ReadBuffer::bytes(std::size_t piece) noexcept {
  return std::max(piece, kPieceBytes) + kPageBytes;
}

std::byte* ReadBuffer::space(std::size_t length) {
  range_ = 0;
  if (size_ < bytes(length)) {
    memory_.reset();
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes(length));
    size_ = bytes(length);
  }
  return memory_.get();
}

const std::byte* ReadBuffer::read(const FileRange& range, std::size_t from, std::size_t length) {
  if (range_ != range.id || from < begin_ || from + length > end_) {
    // Whole pieces: the start of another would be read twice.
    const std::size_t pieces = ahead_ / std::max<std::size_t>(1, length) * length;
    const std::size_t wanted = std::max(length, std::min(pieces, range.length - from));
    held_ = same_place_in_page(space(wanted), range.offset + from);
    read_all_at(*range.file, held_, wanted, range.offset + from, range.place);
    range_ = range.id;
    begin_ = from;
    end_ = from + wanted;
  }
  return held_ + (from - begin_);
}

}  // namespace scrm
