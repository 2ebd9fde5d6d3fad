/// parallel_indices: a loop over independent pieces of work on all threads of the arena.
#pragma once

#include <tbb/parallel_for.h>

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

}  // namespace scrm
