/// ScratchPool: a pool of working memory for reductions, so that there is as much of it as there are threads at work.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "scrm/engine/target_policy.hpp"

namespace scrm {

class ScratchPool {
 public:
  /// A scratch leased from the pool until the end of the scope.
  class Lease {
   public:
    explicit Lease(ScratchPool& pool) : pool_(pool) {
      const std::lock_guard lock(pool_.mutex_);
      if (pool_.free_.empty()) return;
      scratch_ = std::move(pool_.free_.back());
      pool_.free_.pop_back();
    }
    ~Lease() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.free_.push_back(std::move(scratch_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    PolicyScratch& operator*() noexcept { return scratch_; }

   private:
    ScratchPool& pool_;
    PolicyScratch scratch_;
  };

 private:
  std::mutex mutex_;
  std::vector<PolicyScratch> free_;
};

}  // namespace scrm
