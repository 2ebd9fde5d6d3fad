/// fingerprint: tells the rows of one data set from those of another by some of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scrm/io/shard/dataset.hpp"
#include "scrm/kernels/policy.hpp"

namespace scrm {

/// A hash of the losses and propensities of the first block of rows; the same whichever way the rows are split into
/// shards or compressed.
std::uint64_t fingerprint(Dataset& dataset);

/// The same of 64 rows that are spread evenly over all. Which rows are held out goes by their numbers: this notices
/// files that come in another order.
std::uint64_t sample_fingerprint(Dataset& dataset);

/// Each shard by itself: a hash of contexts, actions and losses of its first rows, the same in whatever order its
/// columns come, and whatever other shards it is read with.
std::vector<TrainingShard> shard_fingerprints(Dataset& dataset);

/// Rows in shards that are among these. No shard is read whose number of rows none of them has.
std::int64_t rows_of_known_shards(Dataset& dataset, std::span<const TrainingShard> known);

/// Whether the first shard begins with the rows of this one, however many follow.
bool begins_like(Dataset& dataset, const TrainingShard& known);

}  // namespace scrm
