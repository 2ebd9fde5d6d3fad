/// RawBytes: bytes taken from a file in the serial stage and made ready to read on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "file/file_range.hpp"
#include "hdf5/buffer_pool.hpp"
#include "scrm/io/file/read_buffer.hpp"

namespace scrm {

class RawBytes {
 public:
  virtual ~RawBytes() = default;

  /// Bytes [from, from + length), ready to read until the buffer is used again. Any thread, several at a time, each
  /// with a buffer of its own.
  virtual const std::byte* data_at(std::size_t from, std::size_t length, ReadBuffer& buffer) = 0;
  /// The same with room for them and a page more, which is used unless they lie in memory as they are.
  virtual const std::byte* data_at(std::size_t from, std::size_t length, std::byte* room) = 0;

  /// Does the work of data_at() unless it is done or another thread is doing it.
  virtual void decode_if_idle() {}
  /// Whether another thread is decoding it now; the caller can then decode other chunks instead of waiting.
  virtual bool is_decoding() const noexcept { return false; }
};

/// A copy in memory.
class OwnedBytes final : public RawBytes {
 public:
  explicit OwnedBytes(std::size_t length) : bytes_(std::make_unique_for_overwrite<std::byte[]>(length)) {}

  std::byte* data() noexcept { return bytes_.get(); }
  const std::byte* data_at(std::size_t from, std::size_t, ReadBuffer&) override { return bytes_.get() + from; }
  const std::byte* data_at(std::size_t from, std::size_t, std::byte*) override { return bytes_.get() + from; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

/// A range of a file that stays there until it is used: each thread reads the part it works on into its own buffer,
/// where it is still in cache when it is decoded. Mapping the file instead costs more than the copy: the system spends
/// it on page tables and on interrupting all other cores at every unmapping.
class FileBytes final : public RawBytes {
 public:
  explicit FileBytes(FileRange range) : range_(std::move(range)) {}

  const std::byte* data_at(std::size_t from, std::size_t length, ReadBuffer& buffer) override {
    return buffer.read(range_, from, length);
  }
  const std::byte* data_at(std::size_t from, std::size_t length, std::byte* room) override;

 private:
  FileRange range_;
};

/// The filters a chunk is stored with, and where it belongs, for messages.
struct ChunkEncoding {
  bool shuffled = false;
  bool deflated = false;
  std::size_t element_size = 1;
  std::size_t decoded_bytes = 0;
  std::shared_ptr<BufferPool> pool;
  std::shared_ptr<const std::string> path;
  std::string dataset;
  std::int64_t first_row = 0;
  std::int64_t last_row = 0;
};

/// One chunk as the file holds it; the first thread that needs it inflates it, once, and each puts the numbers together
/// that it needs where they were shuffled.
class ChunkBytes final : public RawBytes {
 public:
  ChunkBytes(BufferPool::Buffer raw, std::size_t raw_bytes, ChunkEncoding encoding);
  /// Still in the file: the thread that decodes it reads it.
  ChunkBytes(FileRange range, ChunkEncoding encoding);

  const std::byte* data_at(std::size_t from, std::size_t length, ReadBuffer& buffer) override;
  const std::byte* data_at(std::size_t from, std::size_t length, std::byte* room) override;
  void decode_if_idle() override;
  bool is_decoding() const noexcept override { return state_.load(std::memory_order_relaxed) == State::decoding; }

 private:
  enum class State : std::uint8_t { raw, decoding, decoded };

  void ensure_decoded();
  void unshuffle_to(std::byte* numbers, std::size_t from, std::size_t length) const;
  void decode();
  BufferPool::Buffer decoded_bytes();
  void inflate_to(std::byte* to) const;
  [[noreturn]] void fail(const std::string& why) const;

  std::optional<FileRange> range_;  // until raw_ holds its bytes
  BufferPool::Buffer raw_;
  std::byte* raw_at_ = nullptr;  // in raw_
  std::size_t raw_bytes_;
  ChunkEncoding encoding_;
  BufferPool::Buffer decoded_;
  const std::byte* decoded_at_ = nullptr;  // in decoded_
  std::mutex mutex_;
  std::atomic<State> state_{State::raw};
};

}  // namespace scrm
