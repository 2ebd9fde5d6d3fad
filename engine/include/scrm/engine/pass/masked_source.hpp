/// MaskedSource: the rows of another source that a mask keeps.
#pragma once

#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/pass/wrapped_source.hpp"

namespace scrm {

/// Blocks keep their places and lose the rows that do not count. rows() is that of the inner source. Rows that share
/// contexts can only be kept all: load throws otherwise.
class MaskedSource final : public WrappedSource {
 public:
  MaskedSource(Source& source, const RowMask& rows) : WrappedSource(source), mask_(rows) {}

  std::size_t loader_bytes() const override;
  std::unique_ptr<BlockLoader> make_loader() const override;
  Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override;

 private:
  const RowMask& mask_;
};

}  // namespace scrm
