#include "scrm/engine/pass/row_split.hpp"

#include <array>
#include <cassert>

#include "pass/split_draw.hpp"

namespace scrm {

// Blocks of one mask are filled by different threads: they must not share words.
static_assert(kBlockRows % 64 == 0);

namespace {

/// Marks the rows of clusters in masks, which are all that a pass leaves.
class ClusterSplit final : public Reduction {
 public:
  ClusterSplit(std::vector<RowMask>& masks, double share, std::uint64_t seed, std::span<const std::uint32_t> splits)
      : masks_(masks), share_(share), seed_(seed), splits_(splits) {}

  std::unique_ptr<Partial> make() const override { return std::make_unique<Partial>(); }
  void compute(const Block& block, Partial&) const override {
    for (int i = 0; i < block.rows; ++i) {
      const auto cluster = static_cast<std::uint64_t>(block.cluster[i]);
      for (std::size_t s = 0; s < splits_.size(); ++s) {
        if (split_draw(seed_, splits_[s], cluster) < share_) masks_[s].set(block.first_row + i);
      }
    }
  }
  void merge(Partial&, const Partial&) const override {}
  void transfer(Partial&, ByteStream&) const override {}
  void transfer_kept(BlockRange blocks, ByteStream& bytes) const override {
    for (RowMask& mask : masks_) {
      const std::span<std::uint64_t> words = mask.words(blocks.first * kBlockRows, blocks.end * kBlockRows);
      bytes.raw(words.data(), words.size_bytes());
    }
  }

 private:
  std::vector<RowMask>& masks_;
  double share_;
  std::uint64_t seed_;
  std::span<const std::uint32_t> splits_;
};

}  // namespace

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
  run_pass(source, ClusterSplit(masks, share, seed, splits), pass);
  return masks;
}

RowMask training_rows(Source& source, SplitUnit unit, double holdout, std::uint64_t seed, const PassOptions& pass) {
  constexpr std::array<std::uint32_t, 1> kHoldoutSplit = {1000};
  return split_rows(source, unit, 1 - holdout, seed, kHoldoutSplit, pass).front();
}

}  // namespace scrm
