#include "hdf5/buffer_pool.hpp"

#include <utility>

namespace scrm {
namespace {

// Free buffers kept; those of one row of chunks and a few in reserve.
constexpr std::size_t kMaxFree = 32;
// Larger ones are rare, and too much to hold back.
constexpr std::size_t kMaxKept = std::size_t{16} << 20;
// Smaller ones the allocator serves without asking the system.
constexpr std::size_t kMinKept = std::size_t{64} << 10;

}  // namespace

void BufferPool::Recycler::operator()(std::byte* memory) const noexcept {
  if (pool_) {
    pool_->recycle(memory, capacity_);
  } else {
    delete[] memory;
  }
}

BufferPool::Buffer BufferPool::take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    for (Free& candidate : free_) {
      // One that is far too large would hold memory that nobody counts.
      if (candidate.capacity < bytes || candidate.capacity / 2 > bytes) continue;
      std::swap(candidate, free_.back());
      Free found = std::move(free_.back());
      free_.pop_back();
      return Buffer(found.memory.release(), Recycler(shared_from_this(), found.capacity));
    }
  }
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return Buffer(memory.release(), Recycler(shared_from_this(), bytes));
}

void BufferPool::recycle(std::byte* memory, std::size_t capacity) noexcept {
  std::unique_ptr<std::byte[]> owner(memory);
  if (capacity < kMinKept || capacity > kMaxKept) return;
  const std::lock_guard lock(mutex_);
  if (free_.capacity() < kMaxFree) {
    try {
      free_.reserve(kMaxFree);
    } catch (...) {
      return;
    }
  }
  // The oldest goes when there are too many: sizes may have changed.
  if (free_.size() >= kMaxFree) free_.erase(free_.begin());
  free_.push_back({std::move(owner), capacity});
}

}  // namespace scrm
