#include "scrm/engine/pass/row_split.hpp"

#include <array>
#include <cassert>

#include "pass/split_draw.hpp"

namespace scrm {

// Blocks of one mask are filled by different threads: they must not share words.
static_assert(kBlockRows % 64 == 0);

SplitUnit split_unit(const Schema& schema) noexcept {
  return schema.cluster ? SplitUnit::cluster : SplitUnit::row;
}

std::vector<RowMask> split_rows(Source& source, SplitUnit unit, double share, std::uint64_t seed,
                                std::span<const std::uint32_t> splits, const PassOptions& pass) {
  std::vector<RowMask> masks;
  if (unit == SplitUnit::row) {
    for (const std::uint32_t split : splits)
      masks.push_back(RowMask::random(source.rows(), share, seed, split, source.schema().replays));
    return masks;
  }
  assert(source.schema().cluster);
  masks.assign(splits.size(), RowMask(source.rows(), false));
  struct Nothing {};
  const auto mark = [&](const Block& block, Nothing&) {
    for (int i = 0; i < block.rows; ++i) {
      const auto cluster = static_cast<std::uint64_t>(block.cluster[i]);
      for (std::size_t s = 0; s < splits.size(); ++s) {
        if (split_draw(seed, splits[s], cluster) < share) masks[s].set(block.first_row + i);
      }
    }
  };
  run_pass(
      source, Nothing{}, mark, [](Nothing&, const Nothing&) {}, pass);
  return masks;
}

RowMask training_rows(Source& source, SplitUnit unit, double holdout, std::uint64_t seed, const PassOptions& pass) {
  constexpr std::array<std::uint32_t, 1> kHoldoutSplit = {1000};
  return split_rows(source, unit, 1 - holdout, seed, kHoldoutSplit, pass).front();
}

}  // namespace scrm
