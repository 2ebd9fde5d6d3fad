/// MaskedSource: the rows of another source that a mask keeps.
#pragma once

#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/pass/source.hpp"

namespace scrm {

/// Blocks keep their places and lose the rows that do not count. rows() is that of the inner source. Rows that share
/// contexts can only be kept all: load throws otherwise.
class MaskedSource final : public Source {
 public:
  MaskedSource(Source& source, const RowMask& rows) : source_(source), mask_(rows) {}

  const Schema& schema() const override { return source_.schema(); }
  std::int64_t rows() const override { return source_.rows(); }
  BlockRange share(int rank, int ranks) const override { return source_.share(rank, ranks); }
  int group_blocks() const override { return source_.group_blocks(); }
  std::size_t group_bytes() const override { return source_.group_bytes(); }
  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override {
    return source_.fetch(first_block, count);
  }
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  Source& source_;
  const RowMask& mask_;
};

}  // namespace scrm
