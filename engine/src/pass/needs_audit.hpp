/// NeedsAudit: what a reduction throws where rows that are read where they lie may be bad.
#pragma once

namespace scrm {

/// Thrown by Reduction::compute for a block with Block::context_by_row, which sources hand out without an audit of it
/// and of lists of doubles: the pass then reads the block again, by columns and audited. Never an error of its own.
struct NeedsAudit {};

}  // namespace scrm
