/// StopToken: a cancellation flag, shared by whoever requests the stop and the code that checks for it.
#pragma once

#include <atomic>
#include <exception>
#include <memory>

namespace scrm {

/// What StopToken::check throws to leave a computation that was asked to stop: an end, not a failure.
class StopRequested : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped on request"; }
};

/// Copies share one flag. Any thread and any signal handler may make the request.
class StopToken {
 public:
  bool requested() const noexcept { return flag_->load(std::memory_order_acquire); }
  void request() const noexcept { flag_->store(true, std::memory_order_release); }
  /// Throws StopRequested once there is a request.
  void check() const {
    if (requested()) throw StopRequested();
  }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait for a lock");
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace scrm
