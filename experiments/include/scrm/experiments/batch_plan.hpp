/// BatchPlan: how many rows each deployment logs.
#pragma once

#include <cstdint>

namespace scrm {

enum class Growth : std::uint8_t {
  doubling,  ///< batch b has first · 2^b rows
  linear     ///< batch b has first · (b + 1) rows
};

/// Batches are consecutive ranges of one long stream of rows, so that all of them together are a range as well.
struct BatchPlan {
  std::int64_t first = 100;
  Growth growth = Growth::doubling;

  constexpr std::int64_t rows(int batch) const noexcept {
    return growth == Growth::doubling ? first << batch : first * (batch + 1);
  }
  /// Rows before the batch.
  constexpr std::int64_t begin(int batch) const noexcept {
    const std::int64_t b = batch;
    return growth == Growth::doubling ? first * ((std::int64_t{1} << batch) - 1) : first * (b * (b + 1) / 2);
  }
  /// The batch that a row belongs to.
  constexpr int batch_of(std::int64_t row) const noexcept {
    int batch = 0;
    while (begin(batch + 1) <= row) ++batch;
    return batch;
  }
};

}  // namespace scrm
