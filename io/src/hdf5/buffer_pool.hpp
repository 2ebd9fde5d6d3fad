/// BufferPool: memory of chunks used again, since fresh pages cost a good part of what inflating into them does.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace scrm {

/// Any thread. Holds back only what was in use before: a new buffer is made when no free one fits.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  /// Gives the memory back to its pool.
  class Recycler {
   public:
    Recycler() = default;
    Recycler(std::shared_ptr<BufferPool> pool, std::size_t capacity) : pool_(std::move(pool)), capacity_(capacity) {}
    void operator()(std::byte* memory) const noexcept;

   private:
    std::shared_ptr<BufferPool> pool_;
    std::size_t capacity_ = 0;
  };
  using Buffer = std::unique_ptr<std::byte[], Recycler>;

  Buffer take(std::size_t bytes);

 private:
  struct Release {
    void operator()(std::byte* memory) const noexcept;
  };
  using Memory = std::unique_ptr<std::byte[], Release>;
  struct Free {
    Memory memory;
    std::size_t capacity = 0;
  };

  void recycle(std::byte* memory, std::size_t capacity) noexcept;

  std::mutex mutex_;
  std::vector<Free> free_;
};

}  // namespace scrm
