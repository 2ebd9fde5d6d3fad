#include "scrm/engine/pass/masked_source.hpp"

#include <algorithm>
#include <array>

#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/block_buffer.hpp"

namespace scrm {
namespace {

class MaskedLoader final : public BlockLoader {
 public:
  MaskedLoader(std::unique_ptr<BlockLoader> loader, const Schema& schema) : inner(std::move(loader)), buffer(schema) {}

  std::unique_ptr<BlockLoader> inner;
  BlockBuffer buffer;
};

}  // namespace

std::size_t MaskedSource::loader_bytes() const {
  return source_.loader_bytes() + block_buffer_bytes(schema());
}

std::unique_ptr<BlockLoader> MaskedSource::make_loader() const {
  return std::make_unique<MaskedLoader>(source_.make_loader(), schema());
}

Block MaskedSource::load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const {
  auto& own = static_cast<MaskedLoader&>(loader);
  const Block block = source_.load(group, index, *own.inner, audit);
  std::array<std::uint8_t, kBlockRows> keep;
  mask_.expand(block.first_row, kBlockRows, keep.data());
  if (block.replays > 1 && std::find(keep.begin(), keep.begin() + block.rows, 0) != keep.begin() + block.rows) {
    throw Error(ErrorKind::usage, "rows that share contexts cannot be left out one by one; give the clip as a number");
  }
  own.buffer.copy_rows(block, 0, block.rows, 0);
  const int left = own.buffer.compact(keep.data(), block.rows);
  return own.buffer.view(block.first_row, left);
}

}  // namespace scrm
