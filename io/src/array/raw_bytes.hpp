/// RawBytes: bytes taken from a file in the serial stage and made ready to read on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "hdf5/buffer_pool.hpp"

namespace scrm {

class RawBytes {
 public:
  virtual ~RawBytes() = default;

  /// Bytes [from, from + length), ready to read. Any thread, several at a time.
  virtual const std::byte* data_at(std::size_t from, std::size_t length) = 0;

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
  const std::byte* data_at(std::size_t from, std::size_t) override { return bytes_.get() + from; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

/// Part of a file mapped into memory; pages are filled as they are touched, on the thread that touches them.
class MappedBytes final : public RawBytes {
 public:
  /// Null when the system cannot map it. The file may be closed afterwards.
  static std::unique_ptr<MappedBytes> map(int file, std::size_t offset, std::size_t length,
                                          std::shared_ptr<const std::string> path);
  ~MappedBytes() override;

  const std::byte* data_at(std::size_t from, std::size_t length) override;

 private:
  MappedBytes(std::byte* base, std::size_t mapped, std::size_t skip, std::shared_ptr<const std::string> path)
      : base_(base), mapped_(mapped), skip_(skip), path_(std::move(path)) {}

  std::byte* base_;
  std::size_t mapped_;
  std::size_t skip_;  ///< from the page's beginning to the first byte asked for
  std::shared_ptr<const std::string> path_;
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

/// One chunk as the file holds it; the first thread that needs it decodes it, once.
class ChunkBytes final : public RawBytes {
 public:
  ChunkBytes(BufferPool::Buffer raw, std::size_t raw_bytes, ChunkEncoding encoding);

  const std::byte* data_at(std::size_t from, std::size_t length) override;
  void decode_if_idle() override;
  bool is_decoding() const noexcept override { return state_.load(std::memory_order_relaxed) == State::decoding; }

 private:
  enum class State : std::uint8_t { raw, decoding, decoded };

  void decode();
  BufferPool::Buffer decoded_bytes();
  void inflate_to(std::byte* to) const;
  [[noreturn]] void fail(const std::string& why) const;

  BufferPool::Buffer raw_;
  std::size_t raw_bytes_;
  ChunkEncoding encoding_;
  BufferPool::Buffer decoded_;
  std::mutex mutex_;
  std::atomic<State> state_{State::raw};
};

}  // namespace scrm
