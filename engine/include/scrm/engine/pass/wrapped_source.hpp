/// WrappedSource: what sources share that change the rows of another, block by block.
#pragma once

#include "scrm/engine/pass/source.hpp"

namespace scrm {

/// As the inner source, but for how blocks are loaded.
class WrappedSource : public Source {
 public:
  const Schema& schema() const override { return source_.schema(); }
  std::int64_t rows() const override { return source_.rows(); }
  BlockRange share(int rank, int ranks) const override { return source_.share(rank, ranks); }
  int group_blocks() const override { return source_.group_blocks(); }
  std::size_t group_bytes() const override { return source_.group_bytes(); }
  std::size_t loader_bytes() const override { return source_.loader_bytes(); }
  std::unique_ptr<BlockLoader> make_loader() const override { return source_.make_loader(); }
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override {
    return source_.fetch(first_block, count);
  }

 protected:
  /// The inner source must outlive this.
  explicit WrappedSource(Source& source) : source_(source) {}

  Source& source_;
};

}  // namespace scrm
