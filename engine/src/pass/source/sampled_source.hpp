/// SampledSource: a few consecutive blocks of another source, again and again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "scrm/engine/pass/wrapped_source.hpp"

namespace scrm {

/// Of every kStride blocks of the inner source the first kTogether: few enough to be from everywhere, enough that a
/// compressed chunk is not read for one block. Rows keep the indices they have there; rows() counts full blocks.
class SampledSource final : public WrappedSource {
 public:
  static constexpr int kTogether = 4;
  static constexpr int kStride = 64;

  explicit SampledSource(Source& source) : WrappedSource(source) {}

  std::int64_t rows() const override { return blocks_before(source_.blocks()) * kBlockRows; }
  /// Those of the rank's own: it may have no others in memory.
  BlockRange share(int rank, int ranks) const override {
    const BlockRange inner = source_.share(rank, ranks);
    return {blocks_before(inner.first), blocks_before(inner.end)};
  }
  int group_blocks() const override { return kTogether; }
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override {
    return source_.fetch(inner_index(first_block), count);
  }
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override {
    return source_.load(group, inner_index(index), loader, audit);
  }

 private:
  static std::int64_t blocks_before(std::int64_t inner) {
    return inner / kStride * kTogether + std::min<std::int64_t>(inner % kStride, kTogether);
  }
  static std::int64_t inner_index(std::int64_t index) { return index / kTogether * kStride + index % kTogether; }
};

}  // namespace scrm
