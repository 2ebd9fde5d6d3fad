/// CountedRows: the rows of a block that the sums are taken over.
#pragma once

#include <cstdint>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Rows of a chunk: few enough that the five top rows leave most of a block's chunks without marks.
inline constexpr int kChunkRows = 64;
static_assert(kBlockRows / kChunkRows <= 64, "one bit a chunk");

/// Rows whose means are taken as shifts for all: enough to be near, few enough to cost nothing.
inline constexpr int kShiftSample = 32;

/// Rows with a negative weight do not count.
struct CountedRows {
  double* w = nullptr;
  const double* y = nullptr;
  int count = 0;             ///< rows that count
  int padded = 0;            ///< all rows, up to a whole chunk
  std::uint64_t marked = 0;  ///< bit c: chunk c has rows that do not count
};

}  // namespace scrm
