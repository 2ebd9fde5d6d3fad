/// What the process holds of the heap, for tests of memory that is counted in advance.
#pragma once

#include <malloc.h>

#include <cstddef>

namespace scrm::testing {

/// Bytes that are in use. Sanitizers have a heap of their own, of which this knows nothing: 0.
inline std::size_t heap_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace scrm::testing
