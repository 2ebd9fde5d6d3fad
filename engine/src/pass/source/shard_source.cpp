#include "scrm/engine/pass/shard_source.hpp"

#include <algorithm>
#include <bit>

namespace scrm {
namespace {

// Enough rows that scheduling costs nothing beside decoding, few enough that several groups fit a small
// budget.
constexpr std::size_t kGroupBytes = std::size_t{8} << 20;
// A chunk that reaches further is not waited for.
constexpr std::size_t kMaxChunkBlocks = 512;

class ShardLoader final : public BlockLoader {
 public:
  explicit ShardLoader(const Schema& schema) : buffer(schema) {}
  void allow_in_place(bool allowed) override { buffer.allow_in_place(allowed); }

  BlockBuffer buffer;
};

class ShardGroup final : public BlockGroup {
 public:
  std::unique_ptr<RawRows> raw;
};

}  // namespace

ShardSource::ShardSource(Dataset dataset) : dataset_(std::move(dataset)) {
  const std::size_t block_bytes = std::max<std::size_t>(1, block_buffer_bytes(dataset_.schema()));
  const std::size_t by_size = std::bit_floor(std::clamp<std::size_t>(kGroupBytes / block_bytes, 1, 64));
  // A compressed chunk is one thread's work: groups that share one would wait for each other.
  const auto chunk_blocks = static_cast<std::size_t>((dataset_.chunk_rows() + kBlockRows - 1) / kBlockRows);
  group_blocks_ = static_cast<int>(std::max(by_size, std::min(std::bit_ceil(chunk_blocks), kMaxChunkBlocks)));
}

std::size_t ShardSource::group_bytes() const {
  return dataset_.fetch_bytes(static_cast<std::int64_t>(group_blocks_) * kBlockRows);
}

std::size_t ShardSource::loader_bytes() const {
  return block_buffer_bytes(dataset_.schema()) + read_buffer_bytes(dataset_.schema());
}

std::unique_ptr<BlockLoader> ShardSource::make_loader() const {
  return std::make_unique<ShardLoader>(schema());
}

std::unique_ptr<BlockGroup> ShardSource::fetch(std::int64_t first_block, int count) {
  const std::int64_t first = first_block * kBlockRows;
  const std::int64_t wanted = static_cast<std::int64_t>(count) * kBlockRows;
  auto group = std::make_unique<ShardGroup>();
  group->raw = dataset_.fetch(first, std::min(wanted, rows() - first));
  return group;
}

Block ShardSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const {
  BlockBuffer& buffer = static_cast<ShardLoader&>(loader).buffer;
  const std::int64_t first = index * kBlockRows;
  const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, rows() - first));
  const int valid = static_cast<ShardGroup&>(group).raw->decode(first, count, buffer, audit);
  return buffer.view(first, valid);
}

}  // namespace scrm
