#include "shard/memory_bound.hpp"

#include <algorithm>

namespace scrm {

double MemoryBound::operator()(std::int64_t rows) const noexcept {
  if (rows <= 0) return 0;
  // A range that begins in segment `first` covers the segments after it whole until its rows run out; it has one row
  // at least in `first`. Both ends move forward only. Sums are taken afresh where the range is short, so rounding
  // does not pile up over many segments: doubles hold sums of bytes exactly far beyond any machine's memory.
  double per_row = 0;
  for (const Segment& segment : segments_) per_row = std::max(per_row, segment.cost.per_row);
  double fixed = 0;
  double total = 0;
  double most = 0;
  std::int64_t inside = 0;  // rows of segments in [first, last)
  std::size_t last = 0;
  for (std::size_t first = 0; first < segments_.size(); ++first) {
    while (last < segments_.size() && (last <= first || inside - segments_[first].rows < rows - 1)) {
      const Segment& segment = segments_[last++];
      fixed += std::min(segment.cost.fixed, segment.cost.total);
      total += segment.cost.total;
      inside += segment.rows;
    }
    most = std::max(most, std::min(total, fixed + per_row * static_cast<double>(rows)));
    const Segment& gone = segments_[first];
    fixed -= std::min(gone.cost.fixed, gone.cost.total);
    total -= gone.cost.total;
    inside -= gone.rows;
  }
  return most;
}

}  // namespace scrm
