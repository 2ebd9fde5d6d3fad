#include "scrm/engine/pass/memory_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

class NoLoader final : public BlockLoader {};
class NoGroup final : public BlockGroup {};

/// Contexts up to this size are still in the second-level cache when the last of their rows is used.
constexpr std::size_t kMostStreamed = 256 * 1024;
/// Sources below this size stay in the last-level cache from pass to pass.
constexpr std::size_t kLeastStreamed = 32 << 20;

/// Brings memory into the cache in the order of its addresses. Kernels take a tile of rows from every column in turn,
/// which the processor's prefetching does not foresee: they would get two thirds of the memory's speed.
void stream_into_cache(const void* from, std::size_t bytes) noexcept {
  const auto* numbers = static_cast<const volatile std::uint64_t*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(*numbers); i += kColumnAlignment / sizeof(*numbers)) (void)numbers[i];
}

/// Growing past a gap would count rows that are not there.
void require_no_gaps(std::int64_t held, std::int64_t rows) {
  if (held == rows) return;
  throw Error(ErrorKind::usage,
              fmt::format("only {} of {} rows passed the audit: rows can be appended neither to nor from such a "
                          "source; leave the bad rows out of its files first",
                          held, rows));
}

}  // namespace

MemorySource::MemorySource(const Schema& schema) : schema_(schema) {}

MemorySource::MemorySource(Source& from, const PassOptions& options, bool skip_bad_rows) : schema_(from.schema()) {
  blocks_.resize(static_cast<std::size_t>(from.blocks()));
  rows_ = from.rows();
  struct Nothing {};
  const auto hold = [this](const Block& block, Nothing&) {
    StoredBlock& held = blocks_[static_cast<std::size_t>(block.first_row / kBlockRows)];
    held.buffer = std::make_unique<BlockBuffer>(schema_);
    held.buffer->copy_rows(block, 0, block.rows, 0);
    held.rows = block.rows;
  };
  audit_ = run_pass(
               from, Nothing{}, hold, [](Nothing&, const Nothing&) {}, options)
               .second;
  if (!skip_bad_rows) require_no_bad_rows(audit_);
}

void MemorySource::append(std::unique_ptr<BlockBuffer> block, int rows) {
  if (rows_ % kBlockRows != 0) throw Error(ErrorKind::usage, "only the last block of a source may be short");
  blocks_.push_back({std::move(block), rows});
  rows_ += rows;
}

void MemorySource::extend(Source& from, const PassOptions& options) {
  assert(options.ranks == nullptr);
  const std::int64_t before = rows_;
  std::int64_t held = 0;
  for (const StoredBlock& block : blocks_) held += block.rows;
  require_no_gaps(held, before);
  rows_ += from.rows();
  while (static_cast<std::int64_t>(blocks_.size()) < blocks()) {
    blocks_.push_back({std::make_unique<BlockBuffer>(schema_), 0});
  }
  for (std::int64_t b = before / kBlockRows; b < blocks(); ++b) {
    blocks_[static_cast<std::size_t>(b)].rows =
        static_cast<int>(std::min<std::int64_t>(kBlockRows, rows_ - b * kBlockRows));
  }
  const auto place = [this, before](const Block& block, std::int64_t& placed) {
    placed = block.rows;
    for (int done = 0; done < block.rows;) {
      const std::int64_t row = before + block.first_row + done;
      const int at = static_cast<int>(row % kBlockRows);
      const int count = std::min(block.rows - done, kBlockRows - at);
      blocks_[static_cast<std::size_t>(row / kBlockRows)].buffer->copy_rows(block, done, count, at);
      done += count;
    }
  };
  PassOptions pass = options;
  if (schema_.sparse) pass.threads = 1;  // entries of a row begin where those of the row before it end
  const auto [placed, audit] = run_pass(
      from, std::int64_t{0}, place, [](std::int64_t& a, std::int64_t b) { a += b; }, pass);
  require_no_bad_rows(audit, false);
  require_no_gaps(placed, from.rows());
}

void MemorySource::shift_losses(std::int64_t first, std::int64_t last, double amount) noexcept {
  for (std::int64_t row = first; row < last;) {
    const int at = static_cast<int>(row % kBlockRows);
    const int count = static_cast<int>(std::min<std::int64_t>(last - row, kBlockRows - at));
    double* loss = blocks_[static_cast<std::size_t>(row / kBlockRows)].buffer->loss() + at;
    for (int i = 0; i < count; ++i) loss[i] += amount;
    row += count;
  }
}

std::unique_ptr<BlockLoader> MemorySource::make_loader() const {
  return std::make_unique<NoLoader>();
}

std::unique_ptr<BlockGroup> MemorySource::fetch(std::int64_t, int) {
  return std::make_unique<NoGroup>();
}

Block MemorySource::load(BlockGroup&, std::int64_t index, BlockLoader&, Audit&) const {
  const StoredBlock& held = blocks_[static_cast<std::size_t>(index)];
  assert(held.buffer != nullptr);  // another rank's
  const Block block = held.buffer->view(index * kBlockRows, held.rows);
  const std::size_t number = schema_.context_type == FloatType::f32 ? sizeof(float) : sizeof(double);
  const std::size_t context =
      schema_.sparse ? 0 : static_cast<std::size_t>(schema_.features * context_stride(schema_.replays)) * number;
  if (context > kMostStreamed || blocks_.size() * context < kLeastStreamed) return block;
  stream_into_cache(block.context, context);
  for (const double* list : {block.action, block.propensity, block.loss})
    if (list != nullptr) stream_into_cache(list, kBlockRows * sizeof(double));
  return block;
}

}  // namespace scrm
