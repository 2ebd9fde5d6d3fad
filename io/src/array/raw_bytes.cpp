#include "array/raw_bytes.hpp"

#include <fmt/format.h>

#include <cassert>
#include <utility>

#include "array/chunk_filters.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

const std::byte* FileBytes::data_at(std::size_t from, std::size_t length, std::byte* room) {
  std::byte* to = same_place_in_page(room, range_.offset + from);
  read_all_at(*range_.file, to, length, range_.offset + from, range_.place);
  return to;
}

ChunkBytes::ChunkBytes(BufferPool::Buffer raw, std::size_t raw_bytes, ChunkEncoding encoding)
    : raw_(std::move(raw)), raw_at_(raw_.get()), raw_bytes_(raw_bytes), encoding_(std::move(encoding)) {}

ChunkBytes::ChunkBytes(FileRange range, ChunkEncoding encoding)
    : range_(std::move(range)), raw_bytes_(range_->length), encoding_(std::move(encoding)) {}

// Numbers that were shuffled are put together here and not with the whole chunk, so that they are in this thread's
// cache when it uses them.
const std::byte* ChunkBytes::data_at(std::size_t from, std::size_t length, ReadBuffer& buffer) {
  ensure_decoded();
  if (!encoding_.shuffled) return decoded_at_ + from;
  std::byte* numbers = buffer.space(length);
  unshuffle_to(numbers, from, length);
  return numbers;
}

const std::byte* ChunkBytes::data_at(std::size_t from, std::size_t length, std::byte* room) {
  ensure_decoded();
  if (!encoding_.shuffled) return decoded_at_ + from;
  unshuffle_to(room, from, length);
  return room;
}

void ChunkBytes::unshuffle_to(std::byte* numbers, std::size_t from, std::size_t length) const {
  const std::size_t size = encoding_.element_size;
  assert(from % size == 0 && length % size == 0);
  unshuffle({decoded_at_, encoding_.decoded_bytes / size, size}, from / size, length / size, numbers);
}

void ChunkBytes::ensure_decoded() {
  if (state_.load(std::memory_order_acquire) == State::decoded) return;
  const std::lock_guard lock(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::decoded) decode();
}

void ChunkBytes::decode_if_idle() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && state_.load(std::memory_order_relaxed) == State::raw) decode();
}

void ChunkBytes::decode() {
  state_.store(State::decoding, std::memory_order_relaxed);
  try {
    decoded_ = decoded_bytes();
  } catch (...) {
    state_.store(State::raw, std::memory_order_relaxed);
    throw;
  }
  decoded_at_ = raw_ ? decoded_.get() : raw_at_;
  raw_.reset();
  state_.store(State::decoded, std::memory_order_release);
}

BufferPool::Buffer ChunkBytes::decoded_bytes() {
  const std::size_t size = encoding_.decoded_bytes;
  if (!encoding_.deflated && raw_bytes_ != size) fail(fmt::format("has {} bytes instead of {}", raw_bytes_, size));
  if (range_) {
    raw_ = encoding_.pool->take(raw_bytes_ + kPageBytes);
    raw_at_ = same_place_in_page(raw_.get(), range_->offset);
    read_all_at(*range_->file, raw_at_, raw_bytes_, range_->offset, range_->place);
    range_.reset();
  }
  if (!encoding_.deflated) return std::move(raw_);
  BufferPool::Buffer plain = encoding_.pool->take(size);
  inflate_to(plain.get());
  return plain;
}

void ChunkBytes::inflate_to(std::byte* to) const {
  if (!inflate(raw_at_, raw_bytes_, to, encoding_.decoded_bytes)) fail("does not decompress to what was written");
}

void ChunkBytes::fail(const std::string& why) const {
  throw Error(ErrorKind::data,
              fmt::format("the chunk with rows {} to {} {}: the file is damaged, copy or write it again",
                          encoding_.first_row, encoding_.last_row, why),
              {.file = *encoding_.path, .dataset = encoding_.dataset});
}

}  // namespace scrm
