/// RolloutSource: several rollouts walked side by side, block by block.
#pragma once

#include <vector>

#include "scrm/engine/pass/source.hpp"

namespace scrm {

/// Block b is block b of every rollout: a chain of blocks linked by next_rollout, in rollout order. Rollouts that end
/// early go on with empty blocks. rows() is the length of the longest.
class RolloutSource final : public Source {
 public:
  explicit RolloutSource(std::vector<Source*> rollouts);

  const Schema& schema() const override { return rollouts_.front()->schema(); }
  std::int64_t rows() const override { return rows_; }
  int group_blocks() const override;
  std::size_t group_bytes() const override;
  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override;
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  std::vector<Source*> rollouts_;
  std::int64_t rows_ = 0;
};

}  // namespace scrm
