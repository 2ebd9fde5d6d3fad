/// ThreadRanks: ranks that are threads of one process, for tests of what ranks do together.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "scrm/engine/ranks/ranks.hpp"

namespace scrm::testing {

/// The letters that are on their way.
class PostOffice {
 public:
  void put(int from, int to, Bytes message) {
    const std::lock_guard lock(mutex_);
    boxes_[to].emplace_back(from, std::move(message));
    arrived_.notify_all();
  }

  /// `from` −1: from anyone.
  std::pair<int, Bytes> take(int to, int from) {
    std::unique_lock lock(mutex_);
    for (;;) {
      auto& box = boxes_[to];
      for (auto it = box.begin(); it != box.end(); ++it) {
        if (from >= 0 && it->first != from) continue;
        std::pair<int, Bytes> letter = std::move(*it);
        box.erase(it);
        return letter;
      }
      arrived_.wait(lock);
    }
  }

  bool has_any(int to) {
    const std::lock_guard lock(mutex_);
    return !boxes_[to].empty();
  }

  std::size_t messages_left() {
    const std::lock_guard lock(mutex_);
    std::size_t left = 0;
    for (const auto& [to, box] : boxes_) left += box.size();
    return left;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<int, std::deque<std::pair<int, Bytes>>> boxes_;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(PostOffice& office, int rank, int size) : office_(office), rank_(rank), size_(size) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  void send(int to, const Bytes& message) override { office_.put(rank_, to, message); }
  Bytes receive(int from) override { return office_.take(rank_, from).second; }
  std::pair<int, Bytes> receive_any() override { return office_.take(rank_, -1); }
  bool has_message() override { return office_.has_any(rank_); }
  int local_ranks() const noexcept override { return size_; }
  int cores() const noexcept override { return 1; }
  [[noreturn]] void abort(const std::string& why) override { throw std::logic_error("aborted: " + why); }

 private:
  PostOffice& office_;
  int rank_, size_;
};

/// Calls work(ranks) once on each of `size` ranks, and returns how many messages nobody has read: none, one hopes.
inline std::size_t on_ranks(int size, const std::function<void(Ranks&)>& work) {
  PostOffice office;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(office, rank, size);
      try {
        work(ranks);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return office.messages_left();
}

}  // namespace scrm::testing
