#include "thread_probe.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace scrm::python {
namespace {

/// What the threads of one probe share: none ends before the last was asked for.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false;
  std::vector<pid_t> passed;

  void pass() {
    std::unique_lock lock(mutex);
    opened.wait(lock, [this] { return open; });
    passed.push_back(::gettid());  // there is room
  }
};

/// A thread that was joined counts against the limits until the system has taken it off its lists.
void wait_until_gone(pid_t thread) {
  const std::string entry = fmt::format("/proc/self/task/{}", thread);
  while (::access(entry.c_str(), F_OK) == 0) ::sched_yield();
}

}  // namespace

// By std::thread, whose stacks are no smaller than those of TBB: what this module calls pthread_create is the program's
// (cli/startup/thread_reserve.cpp, which OpenBLAS brings along), while TBB asks the system.
ProbedThreads probe_threads(int count) {
  ProbedThreads result;
  Gate gate;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  gate.passed.reserve(threads.capacity());
  try {
    while (static_cast<int>(threads.size()) < count) threads.emplace_back([&gate] { gate.pass(); });
  } catch (const std::system_error& error) {
    result.error = error.code().value();
  }
  {
    const std::lock_guard lock(gate.mutex);
    gate.open = true;
  }
  gate.opened.notify_all();
  for (std::thread& thread : threads) thread.join();
  for (const pid_t thread : gate.passed) wait_until_gone(thread);
  result.started = static_cast<int>(threads.size());
  return result;
}

}  // namespace scrm::python
