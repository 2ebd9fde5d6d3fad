/// Contexts of a block as plain rows of numbers, whatever form they have in it.
#pragma once

#include <vector>

#include "scrm/kernels/block.hpp"

namespace scrm {

/// Appends the distinct contexts of the block, one after the other, `features` numbers each.
void append_dense_contexts(const Block& block, std::vector<double>& out);

}  // namespace scrm
