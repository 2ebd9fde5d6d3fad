/// MergeTree: merges partials that arrive in order into a binary tree fixed by their number alone.
#pragma once

#include <utility>
#include <vector>

#include "pass/pool.hpp"
#include "scrm/engine/pass/pass.hpp"

namespace scrm {

using PartialPool = Pool<Reduction::Partial>;
using PartialLease = PartialPool::Lease;

/// A binary counter: whenever two neighbours cover equally many leaves they become one. Leaves may be blocks or whole
/// groups of 2^g blocks that went through a tree of their own: the shape of the tree over blocks is the same either
/// way, which is why grouping has no effect on results.
class MergeTree {
 public:
  explicit MergeTree(const Reduction& reduction) : reduction_(reduction) {}

  void add(PartialLease leaf) {
    int level = 0;
    while (!stack_.empty() && stack_.back().level == level) {
      leaf = merge_into_top(std::move(leaf));
      ++level;
    }
    stack_.push_back({level, std::move(leaf)});
  }

  /// The root; null when nothing was added. The tree is empty afterwards.
  PartialLease finish() {
    if (stack_.empty()) return nullptr;
    PartialLease root = std::move(stack_.back().partial);
    stack_.pop_back();
    while (!stack_.empty()) root = merge_into_top(std::move(root));
    return root;
  }

 private:
  struct Node {
    int level;
    PartialLease partial;
  };

  PartialLease merge_into_top(PartialLease later) {
    PartialLease earlier = std::move(stack_.back().partial);
    stack_.pop_back();
    reduction_.merge(*earlier, *later);
    return earlier;
  }

  const Reduction& reduction_;
  std::vector<Node> stack_;
};

}  // namespace scrm
