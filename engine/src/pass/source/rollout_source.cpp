#include "pass/source/rollout_source.hpp"

#include <algorithm>

namespace scrm {
namespace {

class RolloutLoader final : public BlockLoader {
 public:
  std::vector<std::unique_ptr<BlockLoader>> loaders;
  std::vector<Block> blocks;
};

class RolloutGroup final : public BlockGroup {
 public:
  std::vector<std::unique_ptr<BlockGroup>> groups;  // null where a rollout has ended
};

}  // namespace

RolloutSource::RolloutSource(std::vector<Source*> rollouts) : rollouts_(std::move(rollouts)) {
  for (const Source* rollout : rollouts_) rows_ = std::max(rows_, rollout->rows());
}

int RolloutSource::group_blocks() const {
  int blocks = rollouts_.front()->group_blocks();
  for (const Source* rollout : rollouts_) blocks = std::min(blocks, rollout->group_blocks());
  return blocks;
}

std::size_t RolloutSource::group_bytes() const {
  std::size_t bytes = 0;
  for (const Source* rollout : rollouts_) bytes += rollout->group_bytes();
  return bytes;
}

std::size_t RolloutSource::loader_bytes() const {
  std::size_t bytes = 0;
  for (const Source* rollout : rollouts_) bytes += rollout->loader_bytes();
  return bytes;
}

std::unique_ptr<BlockLoader> RolloutSource::make_loader() const {
  auto loader = std::make_unique<RolloutLoader>();
  for (const Source* rollout : rollouts_) loader->loaders.push_back(rollout->make_loader());
  loader->blocks.resize(rollouts_.size());
  return loader;
}

std::unique_ptr<BlockGroup> RolloutSource::fetch(std::int64_t first_block, int count) {
  auto group = std::make_unique<RolloutGroup>();
  for (Source* rollout : rollouts_) {
    const std::int64_t left = rollout->blocks() - first_block;
    group->groups.push_back(
        left > 0 ? rollout->fetch(first_block, static_cast<int>(std::min<std::int64_t>(left, count))) : nullptr);
  }
  return group;
}

Block RolloutSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const {
  auto& chain = static_cast<RolloutLoader&>(loader);
  auto& groups = static_cast<RolloutGroup&>(group).groups;
  for (std::size_t t = 0; t < rollouts_.size(); ++t) {
    chain.blocks[t] =
        index < rollouts_[t]->blocks() ? rollouts_[t]->load(*groups[t], index, *chain.loaders[t], audit) : Block{};
    if (t > 0) chain.blocks[t - 1].next_rollout = &chain.blocks[t];
  }
  return chain.blocks.front();
}

}  // namespace scrm
