/// fingerprint: tells the rows of one data set from those of another by the first of them.
#pragma once

#include <cstdint>

#include "scrm/io/shard/dataset.hpp"

namespace scrm {

/// A hash of the losses and propensities of the first block of rows; the same whichever way the rows are split into
/// shards or compressed.
std::uint64_t fingerprint(Dataset& dataset);

}  // namespace scrm
