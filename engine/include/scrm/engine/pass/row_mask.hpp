/// RowMask: which rows of a source count, one bit each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace scrm {

class RowMask {
 public:
  explicit RowMask(std::int64_t rows, bool all = true);

  /// Every row is in with probability `share`, by a draw keyed by (seed, split, row): the same at any thread count.
  /// With `together` above 1, that many consecutive rows have one draw.
  static RowMask random(std::int64_t rows, double share, std::uint64_t seed, std::uint32_t split, int together = 1);

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t count() const noexcept;
  bool operator[](std::int64_t row) const noexcept {
    return (words_[static_cast<std::size_t>(row / 64)] >> (row % 64)) & 1;
  }
  void set(std::int64_t row) noexcept { words_[static_cast<std::size_t>(row / 64)] |= std::uint64_t{1} << (row % 64); }

  RowMask operator&(const RowMask& other) const;
  RowMask operator~() const;

  /// The bits of rows [first, end), 64 to a word; both ends are multiples of 64, or the last row.
  std::span<std::uint64_t> words(std::int64_t first, std::int64_t end) noexcept;

  /// out[i] = 1 or 0 for rows [first, first + n); rows past the end are 0.
  void expand(std::int64_t first, int n, std::uint8_t* out) const noexcept;

 private:
  std::int64_t rows_;
  std::vector<std::uint64_t> words_;
};

}  // namespace scrm
