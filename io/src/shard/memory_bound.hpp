/// MemoryBound: how much memory any range of consecutive rows can take, from what is known of its segments.
#pragma once

#include <cstdint>
#include <vector>

#include "array/stored_array.hpp"

namespace scrm {

/// Segments follow each other in row order: shards, or parts of a shard.
class MemoryBound {
 public:
  void add(std::int64_t rows, const MemoryCost& cost) { segments_.push_back({rows, cost}); }

  /// The most that `rows` consecutive rows can take, wherever they begin.
  double operator()(std::int64_t rows) const noexcept;

 private:
  struct Segment {
    std::int64_t rows;
    MemoryCost cost;
  };
  std::vector<Segment> segments_;
};

}  // namespace scrm
