/// fingerprint: tells the rows of one data set from those of another by some of them.
#pragma once

#include <cstdint>

#include "scrm/io/shard/dataset.hpp"

namespace scrm {

/// A hash of the losses and propensities of the first block of rows; the same whichever way the rows are split into
/// shards or compressed.
std::uint64_t fingerprint(Dataset& dataset);

/// The same of 64 rows that are spread evenly over all. Which rows are held out goes by their numbers: this notices
/// files that come in another order.
std::uint64_t sample_fingerprint(Dataset& dataset);

}  // namespace scrm
