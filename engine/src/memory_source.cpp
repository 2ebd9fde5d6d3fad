#include "scrm/engine/memory_source.hpp"

#include "copy_block.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

class NoLoader final : public BlockLoader {};
class NoGroup final : public BlockGroup {};

}  // namespace

MemorySource::MemorySource(const Schema& schema) : schema_(schema) {}

MemorySource::MemorySource(Source& from, const PassOptions& options, bool skip_bad_rows) : schema_(from.schema()) {
  blocks_.resize(static_cast<std::size_t>(from.blocks()));
  rows_ = from.rows();
  struct Nothing {};
  const auto hold = [this](const Block& block, Nothing&) {
    Held& held = blocks_[static_cast<std::size_t>(block.first_row / kBlockRows)];
    held.buffer = std::make_unique<BlockBuffer>(schema_);
    copy_block(block, *held.buffer);
    held.rows = block.rows;
  };
  audit_ = run_pass(
               from, Nothing{}, hold, [](Nothing&, const Nothing&) {}, options)
               .second;
  if (!skip_bad_rows) require_clean(audit_);
}

void MemorySource::append(std::unique_ptr<BlockBuffer> block, int rows) {
  if (rows_ % kBlockRows != 0) throw Error(ErrorKind::usage, "only the last block of a source may be short");
  blocks_.push_back({std::move(block), rows});
  rows_ += rows;
}

std::unique_ptr<BlockLoader> MemorySource::make_loader() const {
  return std::make_unique<NoLoader>();
}

std::unique_ptr<BlockGroup> MemorySource::fetch(std::int64_t, int) {
  return std::make_unique<NoGroup>();
}

Block MemorySource::load(BlockGroup&, std::int64_t index, BlockLoader&, Audit&) const {
  const Held& held = blocks_[static_cast<std::size_t>(index)];
  return held.buffer->view(index * kBlockRows, held.rows);
}

}  // namespace scrm
