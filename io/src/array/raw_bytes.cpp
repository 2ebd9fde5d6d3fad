#include "array/raw_bytes.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "array/chunk_filters.hpp"
#include "scrm/io/error.hpp"

// Older C libraries do not name it; kernels before 5.14 answer EINVAL and the pages are then filled as they are
// touched.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace scrm {
namespace {

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

std::unique_ptr<MappedBytes> MappedBytes::map(int file, std::size_t offset, std::size_t length,
                                              std::shared_ptr<const std::string> path) {
  const std::size_t skip = offset % page_size();
  void* base = mmap(nullptr, skip + length, PROT_READ, MAP_SHARED, file, static_cast<off_t>(offset - skip));
  if (base == MAP_FAILED) return nullptr;
  // Starts reading from disk while earlier rows are still being worked on. Looking for pages that are all there costs a
  // tenth of decoding them, so one byte at the end stands for the rest.
  std::byte last{};
  iovec one{&last, 1};
  if (preadv2(file, &one, 1, static_cast<off_t>(offset + length - 1), RWF_NOWAIT) != 1) {
    madvise(base, skip + length, MADV_WILLNEED);
  }
  return std::unique_ptr<MappedBytes>(
      new MappedBytes(static_cast<std::byte*>(base), skip + length, skip, std::move(path)));
}

MappedBytes::~MappedBytes() {
  munmap(base_, mapped_);
}

const std::byte* MappedBytes::data_at(std::size_t from, std::size_t length) {
  // Touching a page of a file that was cut short meanwhile ends the process; asking for the last page first reports it
  // as an error. The pages before are filled as they are touched: that is a fifth faster than asking for them all.
  if (length > 0) {
    const std::size_t last = (skip_ + from + length - 1) / page_size() * page_size();
    if (madvise(base_ + last, 1, MADV_POPULATE_READ) != 0 && errno != EINVAL) {
      throw Error(ErrorKind::file, "cannot be read to its end: it was cut short, or its disk fails", {.file = *path_});
    }
  }
  return base_ + skip_ + from;
}

ChunkBytes::ChunkBytes(BufferPool::Buffer raw, std::size_t raw_bytes, ChunkEncoding encoding)
    : raw_(std::move(raw)), raw_bytes_(raw_bytes), encoding_(std::move(encoding)) {}

const std::byte* ChunkBytes::data_at(std::size_t from, std::size_t) {
  if (state_.load(std::memory_order_acquire) != State::decoded) {
    const std::lock_guard lock(mutex_);
    if (state_.load(std::memory_order_relaxed) != State::decoded) decode();
  }
  return decoded_.get() + from;
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
  raw_.reset();
  state_.store(State::decoded, std::memory_order_release);
}

BufferPool::Buffer ChunkBytes::decoded_bytes() {
  const std::size_t size = encoding_.decoded_bytes;
  if (!encoding_.deflated && raw_bytes_ != size) fail(fmt::format("has {} bytes instead of {}", raw_bytes_, size));
  if (!encoding_.deflated && !encoding_.shuffled) return std::move(raw_);

  BufferPool::Buffer plain = encoding_.pool->take(size);
  if (!encoding_.deflated) {
    unshuffle(raw_.get(), plain.get(), size, encoding_.element_size);
  } else if (!encoding_.shuffled) {
    inflate_to(plain.get());
  } else {
    const BufferPool::Buffer shuffled = encoding_.pool->take(size);
    inflate_to(shuffled.get());
    unshuffle(shuffled.get(), plain.get(), size, encoding_.element_size);
  }
  return plain;
}

void ChunkBytes::inflate_to(std::byte* to) const {
  if (!inflate(raw_.get(), raw_bytes_, to, encoding_.decoded_bytes)) fail("does not decompress to what was written");
}

void ChunkBytes::fail(const std::string& why) const {
  throw Error(ErrorKind::data,
              fmt::format("the chunk with rows {} to {} {}: the file is damaged, copy or write it again",
                          encoding_.first_row, encoding_.last_row, why),
              {.file = *encoding_.path, .dataset = encoding_.dataset});
}

}  // namespace scrm
