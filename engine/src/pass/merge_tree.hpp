/// MergeTree: merges partials that arrive in order into a binary tree fixed by their number alone.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "scrm/engine/pass.hpp"

namespace scrm {

/// Partials that are free for use again, so that a pass allocates as many as it has in flight and no more.
class PartialPool {
 public:
  explicit PartialPool(const Reduction& reduction) : reduction_(reduction) {}

  std::unique_ptr<Reduction::Partial> acquire() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Reduction::Partial> partial = std::move(free_.back());
        free_.pop_back();
        return partial;
      }
    }
    return reduction_.make();
  }

  void release(std::unique_ptr<Reduction::Partial> partial) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(partial));
  }

  const Reduction& reduction() const { return reduction_; }

 private:
  const Reduction& reduction_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reduction::Partial>> free_;
};

/// A binary counter: whenever two neighbours cover equally many leaves they become one. Leaves may be blocks or whole
/// groups of 2^g blocks that went through a tree of their own: the shape of the tree over blocks is the same either
/// way, which is why grouping has no effect on results.
class MergeTree {
 public:
  explicit MergeTree(PartialPool& pool) : pool_(pool) {}

  void add(std::unique_ptr<Reduction::Partial> leaf) {
    int level = 0;
    while (!stack_.empty() && stack_.back().level == level) {
      leaf = merge_into_top(std::move(leaf));
      ++level;
    }
    stack_.push_back({level, std::move(leaf)});
  }

  /// The root; null when nothing was added. The tree is empty afterwards.
  std::unique_ptr<Reduction::Partial> finish() {
    if (stack_.empty()) return nullptr;
    std::unique_ptr<Reduction::Partial> root = std::move(stack_.back().partial);
    stack_.pop_back();
    while (!stack_.empty()) root = merge_into_top(std::move(root));
    return root;
  }

 private:
  struct Node {
    int level;
    std::unique_ptr<Reduction::Partial> partial;
  };

  std::unique_ptr<Reduction::Partial> merge_into_top(std::unique_ptr<Reduction::Partial> later) {
    std::unique_ptr<Reduction::Partial> earlier = std::move(stack_.back().partial);
    stack_.pop_back();
    pool_.reduction().merge(*earlier, *later);
    pool_.release(std::move(later));
    return earlier;
  }

  PartialPool& pool_;
  std::vector<Node> stack_;
};

}  // namespace scrm
