/// MergeTree: merges partials that arrive in order into a binary tree fixed by their number alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "pass/pool.hpp"
#include "scrm/engine/pass/pass.hpp"

namespace scrm {

using PartialPool = Pool<Reduction::Partial>;
using PartialLease = PartialPool::Lease;

/// The sums of blocks [first, first + 2^level), or of as many of them as there are.
struct MergeNode {
  std::int64_t first = 0;
  int level = 0;
  PartialLease partial;
};

/// A binary counter: whenever two neighbours cover the two halves of a subtree they become one. Nodes may be blocks or
/// subtrees that were merged elsewhere, by a thread or by a rank: the shape of the tree over blocks is the same either
/// way, which is why neither has an effect on results.
class MergeTree {
 public:
  explicit MergeTree(const Reduction& reduction) : reduction_(reduction) {}

  /// Nodes follow each other: each begins where the one before it ended.
  void add(MergeNode node) {
    while (!nodes_.empty() && nodes_.back().level == node.level && (nodes_.back().first >> node.level) % 2 == 0) {
      node = merge_into_last(std::move(node));
      ++node.level;
    }
    nodes_.push_back(std::move(node));
  }

  /// What was added, as the largest subtrees there are. The tree is empty afterwards.
  std::vector<MergeNode> take() { return std::exchange(nodes_, {}); }

  /// The root, of a tree that began with block 0; null when nothing was added. The tree is empty afterwards.
  PartialLease finish() {
    if (nodes_.empty()) return nullptr;
    MergeNode root = std::move(nodes_.back());
    nodes_.pop_back();
    while (!nodes_.empty()) root = merge_into_last(std::move(root));
    return std::move(root.partial);
  }

 private:
  MergeNode merge_into_last(MergeNode later) {
    MergeNode earlier = std::move(nodes_.back());
    nodes_.pop_back();
    reduction_.merge(*earlier.partial, *later.partial);
    return earlier;
  }

  const Reduction& reduction_;
  std::vector<MergeNode> nodes_;
};

}  // namespace scrm
