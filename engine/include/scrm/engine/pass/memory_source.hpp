/// MemorySource: blocks held in memory.
#pragma once

#include <memory>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/io/shard/block_buffer.hpp"

namespace scrm {

class MemorySource final : public Source {
 public:
  /// An empty source; fill it block by block with `append`.
  explicit MemorySource(const Schema& schema);
  /// Holds a copy of every block of another source; with ranks, of those that are this rank's share. Rows that fail the
  /// audit throw, or are left out and counted in audit() when `skip_bad_rows`.
  MemorySource(Source& from, const PassOptions& options, bool skip_bad_rows);

  /// Takes a filled buffer as the next block: `rows` valid rows, kBlockRows for all but the last.
  void append(std::unique_ptr<BlockBuffer> block, int rows);

  /// Appends all rows of a source of the same schema, which may not have bad ones; the last block is filled up first.
  /// Not for rows that ranks share.
  void extend(Source& from, const PassOptions& options);

  /// Adds to the losses of rows [first, last).
  void shift_losses(std::int64_t first, std::int64_t last, double amount) noexcept;

  const Audit& audit() const noexcept { return audit_; }

  const Schema& schema() const override { return schema_; }
  std::int64_t rows() const override { return rows_; }
  int group_blocks() const override { return 32; }
  std::size_t group_bytes() const override { return 0; }
  std::size_t loader_bytes() const override { return 0; }
  std::unique_ptr<BlockLoader> make_loader() const override;
  std::unique_ptr<BlockGroup> fetch(std::int64_t first_block, int count) override;
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  struct StoredBlock {
    std::unique_ptr<BlockBuffer> buffer;
    int rows = 0;
  };

  Schema schema_;
  std::vector<StoredBlock> blocks_;
  std::int64_t rows_ = 0;  // before the audit, so that block indices stay what they were
  Audit audit_;
};

}  // namespace scrm
