/// UncertainContext: what a reduction throws where contexts that lie row by row may hold numbers that are not finite.
#pragma once

namespace scrm {

/// Thrown by Reduction::compute for a block with Block::context_by_row, which sources hand out without an audit of the
/// context: the pass then reads the block again, by columns and audited. Never an error of its own.
struct UncertainContext {};

}  // namespace scrm
