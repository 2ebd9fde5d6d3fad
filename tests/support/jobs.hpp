/// Jobs for tests of the scheduler, and what counts and brings together the threads that run them.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "scrm/engine/schedule/scheduler.hpp"

namespace scrm::testing {

/// Raises a counter while it lives, and remembers the highest it has been.
struct Counted {
  Counted(std::atomic<int>& now, std::atomic<int>& most, int amount = 1) : now_(now), amount_(amount) {
    const int count = now += amount;
    for (int seen = most; count > seen && !most.compare_exchange_weak(seen, count);) continue;
  }
  ~Counted() { now_ -= amount_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  std::atomic<int>& now_;
  int amount_;
};

/// Lets threads wait until as many have come. The deadline is for a scheduler that never brings them together.
class Meeting {
 public:
  explicit Meeting(int guests) : missing_(guests) {}

  bool attend(std::chrono::seconds patience = std::chrono::seconds(60)) {
    std::unique_lock lock(mutex_);
    if (--missing_ <= 0) complete_.notify_all();
    return complete_.wait_for(lock, patience, [this] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable complete_;
  int missing_;
};

/// Work that takes a little while; no compiler leaves it out.
inline void some_work(int amount) {
  volatile double sum = 0;
  for (int i = 1; i < amount; ++i) sum = sum + std::sin(static_cast<double>(i));
}

/// Jobs 0, 1, …, each as long as its number says.
inline std::vector<Job> jobs_that(int count, const std::function<void(int, const StopToken&)>& work) {
  std::vector<Job> jobs;
  for (int i = 0; i < count; ++i)
    jobs.push_back({std::to_string(i), static_cast<double>(i), 0, [i, work](const StopToken& stop) { work(i, stop); }});
  return jobs;
}

}  // namespace scrm::testing
