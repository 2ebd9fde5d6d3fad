/// ShardSource: blocks from HDF5 shards, decoded on the threads that use them.
#pragma once

#include "scrm/engine/pass/source.hpp"
#include "scrm/io/shard/dataset.hpp"

namespace scrm {

class ShardSource final : public Source {
 public:
  explicit ShardSource(Dataset dataset);

  const Dataset& dataset() const noexcept { return dataset_; }
  Dataset& dataset() noexcept { return dataset_; }

  const Schema& schema() const override { return dataset_.schema(); }
  std::int64_t rows() const override { return dataset_.rows(); }
  int group_blocks() const override { return group_blocks_; }
  std::size_t group_bytes() const override;
  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override;
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  Dataset dataset_;
  int group_blocks_;
};

}  // namespace scrm
