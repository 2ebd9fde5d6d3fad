/// ScratchPool: lends working memory to kernels, so that there is as much of it as there are threads at work.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "scrm/engine/target_policy.hpp"

namespace scrm {

class ScratchPool {
 public:
  /// A scratch on loan, given back at the end of the scope.
  class Loan {
   public:
    explicit Loan(ScratchPool& pool) : pool_(pool) {
      const std::lock_guard lock(pool_.mutex_);
      if (pool_.free_.empty()) return;
      scratch_ = std::move(pool_.free_.back());
      pool_.free_.pop_back();
    }
    ~Loan() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.free_.push_back(std::move(scratch_));
    }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

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
