/// Copies a block into a buffer of the same schema, so that it outlives the loader it came from.
#pragma once

#include "scrm/io/block_buffer.hpp"

namespace scrm {

/// All columns and the rows past the end too: what is copied reads like the original.
void copy_block(const Block& block, BlockBuffer& out);

}  // namespace scrm
