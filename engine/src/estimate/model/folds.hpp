/// Folds: which part of the rows is left out when a row is predicted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "pass/mixed_bits.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/kernels/block.hpp"

namespace scrm {

/// By a hash of the cluster where rows have one, else of the row's number or, where rows share contexts, the context's;
/// of the block's number as soon as there are
/// blocks enough, since a block with one fold costs a fifth of one with five.
class Folds {
 public:
  static constexpr int kCount = 5;
  static constexpr int kNone = -1;  ///< in place of a fold: nothing is left out

  explicit Folds(const Source& source)
      : by_block_(!source.schema().cluster && source.rows() >= kManyBlocks * kBlockRows) {}

  /// The fold of all rows, where they share one.
  std::optional<int> of_block(const Block& block) const {
    if (!by_block_) return {};
    return fold_of(static_cast<std::uint64_t>(block.first_row / kBlockRows));
  }

  using OfRows = std::array<std::uint8_t, kBlockRows>;

  OfRows of_rows(const Block& block) const {
    OfRows folds;
    if (const std::optional<int> all = of_block(block)) {
      folds.fill(static_cast<std::uint8_t>(*all));
      return folds;
    }
    for (int i = 0; i < block.rows; ++i) {
      const std::int64_t number = block.cluster != nullptr ? block.cluster[i] : (block.first_row + i) / block.replays;
      folds[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(fold_of(static_cast<std::uint64_t>(number)));
    }
    return folds;
  }

 private:
  static constexpr std::int64_t kManyBlocks = 64;

  static int fold_of(std::uint64_t number) { return static_cast<int>(mixed_bits(number) % kCount); }

  bool by_block_;
};

}  // namespace scrm
