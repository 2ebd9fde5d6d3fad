/// parallel_indices, parallel_blocks: loops over independent pieces of work on all threads of the arena.
#pragma once

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace scrm {

/// work(i) for i in [0, count), each once, in any order. The counter orders what TBB orders by itself already; the
/// thread sanitizer, which cannot look into TBB, sees it and can then watch the work.
template <class Work>
void parallel_indices(std::int64_t count, Work&& work) {
  std::atomic<std::int64_t> done = 0;
  done.fetch_add(1, std::memory_order_release);
  tbb::parallel_for(std::int64_t{0}, count, [&](std::int64_t i) {
    (void)done.load(std::memory_order_acquire);
    work(i);
    done.fetch_add(1, std::memory_order_release);
  });
  (void)done.load(std::memory_order_acquire);
}

/// work(first, n) for blocks of `size` that cover [0, count), the last one shorter where they must.
template <class Work>
void parallel_blocks(std::int64_t count, std::int64_t size, Work&& work) {
  parallel_indices((count + size - 1) / size,
                   [&](std::int64_t block) { work(block * size, std::min(size, count - block * size)); });
}

/// work(i, ni, j, nj) for the pairs of such blocks with j ≤ i.
template <class Work>
void parallel_block_pairs(std::int64_t count, std::int64_t size, Work&& work) {
  const std::int64_t blocks = (count + size - 1) / size;
  const auto length = [&](std::int64_t first) { return std::min(size, count - first); };
  parallel_indices(blocks * blocks, [&](std::int64_t t) {
    const std::int64_t i = t / blocks * size, j = t % blocks * size;
    if (j <= i) work(i, length(i), j, length(j));
  });
}

}  // namespace scrm
