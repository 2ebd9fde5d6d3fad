#include "array/stored_array.hpp"

#include <algorithm>

namespace scrm {

void MemoryCost::add(const MemoryCost& other) noexcept {
  fixed += other.fixed;
  per_row += other.per_row;
  total += other.total;
}

MemoryCost StoredArray::memory_cost() const noexcept {
  constexpr double kTileOverhead = 512;  // what remembers where its bytes are
  constexpr double kMostAtOnce = kMinDeferred;
  const ArrayFacts& facts = *facts_;
  MemoryCost cost;
  if (facts.storage == Storage::encoded_chunks) {
    // Raw and decoded bytes of a chunk do not stay together for long, but a badly compressed chunk is the larger of
    // the two by a little. A chunk at either end reaches outside; one is being decoded through scratch memory.
    constexpr double kRawExcess = 1.125;
    const double across = static_cast<double>(facts.chunks_across());
    const double one = static_cast<double>(facts.chunk_bytes());
    const double band = (kRawExcess * one + kTileOverhead) * across;
    cost.per_row = band / static_cast<double>(facts.chunk_rows);
    cost.fixed = 2 * band + 2 * one;
    const auto bands = static_cast<double>(facts.chunks_down());
    cost.total = bands * band + 2 * one;
    return cost;
  }
  if (facts.storage == Storage::plain_chunks) {
    // Chunks that are read later hold no memory; what is cut off at either end of a range may be short.
    const double across = static_cast<double>(facts.chunks_across());
    const double whole = facts.chunk_bytes() < kMinDeferred ? static_cast<double>(facts.chunk_bytes()) : 0;
    cost.per_row = (whole + kTileOverhead) * across / static_cast<double>(facts.chunk_rows);
    cost.fixed = 2 * (kMostAtOnce + kTileOverhead) * across;
  } else if (facts.storage == Storage::contiguous) {
    cost.fixed = kMostAtOnce + kTileOverhead;
  } else {
    // Once as they come from the process that reads them and once as they are kept.
    cost.per_row = 2 * static_cast<double>(facts.row_bytes());
    cost.fixed = kTileOverhead + static_cast<double>(facts.hdf5_cache);
  }
  cost.total = cost.fixed + cost.per_row * static_cast<double>(facts.rows);
  if (facts.storage == Storage::contiguous) {
    cost.total =
        std::min(cost.total, static_cast<double>(facts.rows) * static_cast<double>(facts.row_bytes()) + kTileOverhead);
  } else if (facts.storage == Storage::plain_chunks) {
    const auto bands = static_cast<double>(facts.chunks_down());
    const double band =
        (static_cast<double>(facts.chunk_bytes()) + kTileOverhead) * static_cast<double>(facts.chunks_across());
    cost.total = std::min(cost.total, bands * band);
  }
  return cost;
}

}  // namespace scrm
