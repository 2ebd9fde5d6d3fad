#include "scrm/engine/memory_source.hpp"

#include <algorithm>
#include <cstring>

#include "scrm/io/error.hpp"

namespace scrm {
namespace {

class NoLoader final : public BlockLoader {};
class NoGroup final : public BlockGroup {};

void copy_columns(const double* from, double* to, std::int64_t columns) {
  if (from != nullptr) std::memcpy(to, from, static_cast<std::size_t>(columns) * kBlockRows * sizeof(double));
}

/// A copy of a block that outlives the loader it came from.
std::unique_ptr<BlockBuffer> copy_block(const Schema& schema, const Block& block) {
  auto copy = std::make_unique<BlockBuffer>(schema);
  if (schema.sparse) {
    const std::int64_t entries = block.sparse.indptr[block.rows];
    std::copy_n(block.sparse.indptr, block.rows + 1, copy->indptr());
    copy->indices().assign(block.sparse.indices, block.sparse.indices + entries);
    copy->values().assign(block.sparse.values, block.sparse.values + entries);
  } else if (schema.context_type == FloatType::f32 && block.features > 0) {
    std::memcpy(copy->context_f32(), block.context,
                static_cast<std::size_t>(block.features) * kBlockRows * sizeof(float));
  } else if (block.features > 0) {
    copy_columns(static_cast<const double*>(block.context), copy->context_f64(), block.features);
  }
  copy_columns(block.action, copy->action(), 1);
  if (block.category != nullptr) std::copy_n(block.category, kBlockRows, copy->category());
  if (block.bits != nullptr)
    std::copy_n(block.bits, static_cast<std::int64_t>(block.num_actions) * kBlockRows, copy->bits());
  copy_columns(block.loss, copy->loss(), 1);
  copy_columns(block.log_propensity != nullptr ? block.log_propensity : block.propensity, copy->propensity(), 1);
  copy_columns(block.label_propensity, copy->label_propensity(), block.num_actions);
  for (int t = 0; t < block.num_targets; ++t) copy_columns(block.targets[t], copy->target(t), 1);
  return copy;
}

}  // namespace

MemorySource::MemorySource(const Schema& schema) : schema_(schema) {}

MemorySource::MemorySource(Source& from, const PassOptions& options, bool skip_bad_rows) : schema_(from.schema()) {
  blocks_.resize(static_cast<std::size_t>(from.blocks()));
  rows_ = from.rows();
  struct Nothing {};
  const auto hold = [this](const Block& block, Nothing&) {
    Held& held = blocks_[static_cast<std::size_t>(block.first_row / kBlockRows)];
    held.buffer = copy_block(schema_, block);
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
