/// Pool: working memory that threads lease and give back, so that there is as much of it as is in use at once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace scrm {

template <class T>
class Pool {
 public:
  struct GiveBack {
    Pool* pool = nullptr;
    void operator()(T* item) const noexcept { pool->give_back(std::unique_ptr<T>(item)); }
  };
  /// Goes back to the pool at the end of its life; the pool must live longer.
  using Lease = std::unique_ptr<T, GiveBack>;

  /// `make` is called on any thread, when nothing is free.
  explicit Pool(std::function<std::unique_ptr<T>()> make = [] { return std::make_unique<T>(); })
      : make_(std::move(make)) {}

  Lease lease() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Lease lease(free_.back().release(), GiveBack{this});
        free_.pop_back();
        return lease;
      }
    }
    return Lease(make_().release(), GiveBack{this});
  }

 private:
  void give_back(std::unique_ptr<T> item) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      free_.push_back(std::move(item));
    } catch (const std::bad_alloc&) {
      // Without memory to remember it by, it is gone: the next lease makes another.
    }
  }

  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace scrm
