#include "run_task.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"
#include "task/address_space.hpp"
#include "thread_probe.hpp"

namespace scrm::python {

namespace py = pybind11;

void PythonFailure::raise(py::error_already_set& error, const StopToken& stop) {
  if (!first_) first_.emplace(std::move(error));
  stop.request();
  throw StopRequested();
}

void PythonFailure::rethrow_if_any() {
  if (first_) throw py::error_already_set(std::move(*first_));
}

namespace {

// Ctrl-C is to be obeyed within half a second, the end of a block included.
constexpr auto kListenEvery = std::chrono::milliseconds(50);

/// How far the work is, as a worker last said.
class Bulletin {
 public:
  struct State {
    std::string label;
    std::int64_t done = 0, total = 0;
    std::int64_t version = 0;
  };

  Progress writer(const std::string& label) {
    return [this, label](std::int64_t done, std::int64_t total) {
      const std::lock_guard lock(mutex_);
      state_ = {label, done, total, state_.version + 1};
    };
  }

  State read() {
    const std::lock_guard lock(mutex_);
    return state_;
  }

 private:
  std::mutex mutex_;
  State state_;
};

/// Throws where this process is a copy of one that had threads.
void require_own_threads() {
  static std::atomic<pid_t> owner{0};
  pid_t nobody = 0;
  if (owner.compare_exchange_strong(nobody, ::getpid()) || nobody == ::getpid()) return;
  throw Error(
      ErrorKind::run,
      "this process was forked (os.fork, multiprocessing) from one that had used scrm, whose threads did not come "
      "along; use multiprocessing's start method \"spawn\", or call scrm in the children alone");
}

/// Puts the number of threads right where the system would not start as many: with the GIL.
void require_threads(TaskContext& context) {
  const int asked = context.options.threads;
  const int waiting = context.thread_waits ? 1 : 0;
  // One of them calls work().
  const int wanted = threads_in_address_space(asked + waiting);
  ProbedThreads probed;
  {
    const py::gil_scoped_release released;
    probed = probe_threads(wanted);
  }
  if (probed.started == 0)
    throw Error(ErrorKind::run, fmt::format("the system starts no further thread ({}): raise the limit of processes "
                                            "(ulimit -u) or of address space (ulimit -v), or end other threads",
                                            std::strerror(probed.error)));
  context.options.threads = std::max(1, probed.started - waiting);
  if (context.options.threads == asked) return;
  const std::string warning = fmt::format(
      "only {} of {} threads could be started ({}); going on with {}", context.options.threads, asked,
      std::strerror(probed.error == 0 ? ENOMEM : probed.error), context.options.threads == 1 ? "one" : "these");
  py::module_::import("scrm._task").attr("warn")(std::vector<std::string>{warning});
}

/// A thread whose end can be waited for with a time limit.
class Worker {
 public:
  explicit Worker(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          try {
            work();
          } catch (...) {
            error_ = std::current_exception();
          }
          const std::lock_guard lock(mutex_);
          ended_ = true;
          end_.notify_all();
        }) {}
  ~Worker() { thread_.join(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool ended_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return end_.wait_for(lock, time, [this] { return ended_; });
  }
  void wait() {
    std::unique_lock lock(mutex_);
    end_.wait(lock, [this] { return ended_; });
  }
  void rethrow_if_failed() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all the others
};

/// Calls back with what is new, and lets signals through: with the GIL.
void listen(Bulletin& bulletin, std::int64_t& told, const py::object& progress) {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  const Bulletin::State state = bulletin.read();
  if (progress.is_none() || state.version == told) return;
  told = state.version;
  progress(state.done, state.total, state.label);
}

}  // namespace

TaskContext make_context(const py::dict& task) {
  TaskContext context;
  context.options.threads = resolve_threads(task["threads"].cast<int>());
  context.options.memory = memory_in_address_space(task["memory"].cast<std::size_t>());
  context.options.held_before = resident_bytes();
  return context;
}

void run_task(TaskContext& context, const py::object& progress, const std::function<void(TaskContext&)>& work) {
  require_own_threads();
  require_threads(context);
  Bulletin bulletin;
  context.options.progress = [&](const std::string& label, const std::string&) { return bulletin.writer(label); };
  context.options.warn = [&](const std::string& text) { context.warnings.push_back(text); };
  std::optional<py::error_already_set> interruption;
  std::exception_ptr failure;
  {
    std::int64_t told = 0;
    const py::gil_scoped_release released;
    Worker worker([&] { work(context); });
    while (!worker.ended_within(kListenEvery)) {
      const py::gil_scoped_acquire acquired;
      try {
        listen(bulletin, told, progress);
      } catch (py::error_already_set& error) {
        interruption.emplace(std::move(error));
        context.options.stop.request();
        break;
      }
    }
    worker.wait();
    try {
      worker.rethrow_if_failed();
    } catch (...) {
      failure = std::current_exception();
    }
    const py::gil_scoped_acquire acquired;
    if (!failure && !interruption) {
      try {
        listen(bulletin, told, progress);  // the last word: all is done
      } catch (py::error_already_set& error) {
        interruption.emplace(std::move(error));
      }
    }
  }
  if (interruption) throw py::error_already_set(std::move(*interruption));
  context.failure->rethrow_if_any();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace scrm::python
