#include "scrm/engine/schedule/scheduler.hpp"

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <limits>
#include <list>
#include <mutex>
#include <numeric>
#include <utility>

#include "schedule/arena.hpp"
#include "scrm/engine/schedule/human_bytes.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm {
namespace {

/// The order in which jobs should start.
std::list<std::size_t> starting_order(const std::vector<Job>& jobs, const std::optional<std::uint64_t>& shuffle_seed) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (shuffle_seed) {
    for (std::size_t i = order.size(); i > 1; --i) {
      RandomStream stream(*shuffle_seed, 0, i);
      std::swap(order[i - 1], order[stream.bits() % i]);
    }
  } else {
    const auto cost = [&jobs](std::size_t i) {
      return std::isnan(jobs[i].cost) ? std::numeric_limits<double>::infinity() : jobs[i].cost;
    };
    std::stable_sort(order.begin(), order.end(), [&cost](auto a, auto b) { return cost(a) > cost(b); });
  }
  return {order.begin(), order.end()};
}

// Whether this thread is at work on a job.
thread_local bool inside_job = false;

// Raised before a job is handed to TBB and read before it begins. TBB orders the two itself, but the thread sanitizer,
// which cannot look into it, sees only this, and can then watch the jobs.
std::atomic<std::uint64_t> jobs_enqueued = 0;

/// Room for one running job: an arena of one thread, which TBB serves before all others. TBB counts its demand for that
/// thread until the job has ended, so that loops inside jobs get exactly the threads that have none. Were jobs tasks of
/// one common arena, an idle thread would declare it empty, and TBB would then take threads at work on jobs for idle
/// ones, and wake too few.
struct Slot {
  tbb::task_arena arena{1, 0, tbb::task_arena::priority::high};
};

/// Hands out jobs to TBB's threads. The thread that called only waits, asleep: were it to take part, it could be left
/// waiting for the last job while that job's loops are one core short. One thread alone has no loops to share.
class Scheduler {
 public:
  Scheduler(std::vector<Job> jobs, const SchedulerOptions& options, int threads)
      : jobs_(std::move(jobs)),
        states_(jobs_.size(), State::waiting),
        options_(options),
        threads_(threads),
        slots_(std::min(jobs_.size(), static_cast<std::size_t>(threads))),
        waiting_(starting_order(jobs_, options.shuffle_seed)) {
    for (Slot& slot : slots_) free_.push_back(&slot);
  }

  std::vector<Job> run();

 private:
  enum class State : std::uint8_t { waiting, started, refused };

  void refuse_oversized_jobs();
  bool fits(const Job& job) const { return options_.memory == 0 || job.memory <= options_.memory - held_bytes_; }
  bool may_start() const { return !options_.stop.requested() && !callback_threw_; }
  bool running() const { return free_.size() < slots_.size(); }
  /// Hands out every job that may start now. Needs the mutex.
  void start_jobs();
  /// Runs the jobs one after another on the thread that called: for one thread at a time no other has to be made, which
  /// the system may refuse.
  void run_here();
  /// One job from beginning to end, on the slot's thread.
  void run_job(std::size_t index, Slot& slot) noexcept;
  void execute_job(Job& job) noexcept;
  /// Calls one of the caller's functions.
  template <class Callback, class... Arguments>
  void notify(const Callback& callback, const Arguments&... arguments) noexcept;
  /// Keeps the first failure that no callback takes, for run() to throw.
  void record_failure(const std::exception_ptr& failure) noexcept;

  std::vector<Job> jobs_;
  std::vector<State> states_;
  const SchedulerOptions& options_;
  const int threads_;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
  std::list<std::size_t> waiting_;
  std::size_t held_bytes_ = 0;  // bytes, by the jobs handed out

  std::mutex callback_mutex_;
  std::exception_ptr first_failure_;
  std::exception_ptr callback_failure_;
  std::atomic<bool> callback_threw_ = false;
};

template <class Callback, class... Arguments>
void Scheduler::notify(const Callback& callback, const Arguments&... arguments) noexcept {
  const std::lock_guard lock(callback_mutex_);
  try {
    callback(arguments...);
  } catch (...) {
    if (!callback_failure_) callback_failure_ = std::current_exception();
    callback_threw_ = true;
  }
}

void Scheduler::record_failure(const std::exception_ptr& failure) noexcept {
  const std::lock_guard lock(callback_mutex_);
  if (!first_failure_) first_failure_ = failure;
}

void Scheduler::refuse_oversized_jobs() {
  if (options_.memory == 0) return;
  for (auto place = waiting_.begin(); place != waiting_.end();) {
    const std::size_t index = *place;
    const Job& job = jobs_[index];
    if (job.memory <= options_.memory) {
      ++place;
      continue;
    }
    place = waiting_.erase(place);
    states_[index] = State::refused;
    const Error error(ErrorKind::memory, fmt::format("{} needs {} and the budget is {}; give a larger --memory",
                                                     job.name, human_bytes(static_cast<double>(job.memory)),
                                                     human_bytes(static_cast<double>(options_.memory))));
    if (options_.on_refused) {
      notify(options_.on_refused, job, error);
    } else {
      record_failure(std::make_exception_ptr(error));
    }
  }
}

void Scheduler::start_jobs() {
  for (auto place = waiting_.begin(); place != waiting_.end() && !free_.empty() && may_start();) {
    const std::size_t index = *place;
    if (!fits(jobs_[index])) {
      ++place;
      continue;
    }
    // The slot that was last in use: its thread is still there.
    Slot& slot = *free_.back();
    jobs_enqueued.fetch_add(1, std::memory_order_release);
    slot.arena.enqueue([this, index, &slot] {
      (void)jobs_enqueued.load(std::memory_order_acquire);
      run_job(index, slot);
    });
    free_.pop_back();
    place = waiting_.erase(place);
    held_bytes_ += jobs_[index].memory;
  }
}

void Scheduler::execute_job(Job& job) noexcept {
  std::exception_ptr failure;
  bool stopped = false;
  inside_job = true;
  try {
    // An arena of the job's own: its loops spread over threads that have no job, and a thread that waits for one of
    // them finds nothing there to take up but parts of this job.
    in_arena(threads_, [&] { job.run(options_.stop); });
  } catch (const StopRequested&) {
    stopped = true;
  } catch (...) {
    failure = std::current_exception();
  }
  inside_job = false;
  job.run = nullptr;
  if (failure && options_.on_failed) {
    notify(options_.on_failed, job, failure);
  } else if (failure) {
    record_failure(failure);
  } else if (!stopped && options_.on_done) {
    notify(options_.on_done, job);
  }
}

void Scheduler::run_job(std::size_t index, Slot& slot) noexcept {
  std::unique_lock lock(mutex_);
  // Handed out is not begun: the request to stop may have come while the job waited for its thread.
  if (may_start()) {
    states_[index] = State::started;
    lock.unlock();
    execute_job(jobs_[index]);
    lock.lock();
  }
  held_bytes_ -= jobs_[index].memory;
  free_.push_back(&slot);
  start_jobs();
  // Under the lock: once it is free, the thread that waits may take all of this apart.
  if (!running()) ended_.notify_one();
}

void Scheduler::run_here() {
  for (const std::size_t index : waiting_) {
    if (!may_start()) return;
    states_[index] = State::started;
    execute_job(jobs_[index]);
  }
}

std::vector<Job> Scheduler::run() {
  refuse_oversized_jobs();
  if (threads_ == 1) {
    run_here();
  } else {
    std::unique_lock lock(mutex_);
    start_jobs();
    ended_.wait(lock, [this] { return !running(); });
  }
  if (callback_failure_) std::rethrow_exception(callback_failure_);
  if (first_failure_) std::rethrow_exception(first_failure_);
  std::vector<Job> left;
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (states_[i] == State::waiting) left.push_back(std::move(jobs_[i]));
  return left;
}

}  // namespace

std::vector<Job> run_jobs(std::vector<Job> jobs, const SchedulerOptions& options) {
  if (inside_job) throw Error(ErrorKind::run, "a job cannot run other jobs: it would wait for the thread it is on");
  const int threads = resolve_threads(options.threads);
  // For all arenas together, those of passes inside jobs included. TBB counts the thread that waits, hence one more;
  // with one thread, none waits.
  const auto counted = static_cast<std::size_t>(threads == 1 ? 1 : threads + 1);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, counted);
  return Scheduler(std::move(jobs), options, threads).run();
}

}  // namespace scrm
