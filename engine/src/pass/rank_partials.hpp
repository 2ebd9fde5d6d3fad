/// join_ranks: the partials of a pass whose blocks several ranks have reduced, in the one tree.
#pragma once

#include <cstdint>
#include <functional>

#include "pass/merge_tree.hpp"
#include "scrm/engine/pass/pass.hpp"

namespace scrm {

class Ranks;

/// What a rank has of a pass.
struct RankPartials {
  const Reduction& reduction;
  std::int64_t all_blocks;
  BlockRange blocks;  ///< those that are in the tree
  PartialPool& pool;
  MergeTree& tree;
  Audit& audit;
};

/// Calls work, which fills the tree and the audit with the sums of this rank's blocks; afterwards they are, on every
/// rank, those of all blocks. What work throws on one rank, all of them throw.
void join_ranks(Ranks& ranks, RankPartials partials, const std::function<void()>& work);

}  // namespace scrm
