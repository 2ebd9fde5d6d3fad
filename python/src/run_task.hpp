/// run_task: long work on a thread of its own, while the caller's thread listens to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "task/task_options.hpp"

namespace scrm::python {

/// The first exception of Python code that a worker ran: it ends the work, and the caller of run_task gets it.
class PythonFailure {
 public:
  /// To be called with the GIL, in a handler of the exception. Keeps it, and ends the pass that the worker is in.
  [[noreturn]] void raise(pybind11::error_already_set& error, const StopToken& stop);
  void rethrow_if_any();

 private:
  std::optional<pybind11::error_already_set> first_;
};

/// What a task of Python's is given besides TaskOptions.
struct TaskContext {
  TaskOptions options;
  std::shared_ptr<PythonFailure> failure = std::make_shared<PythonFailure>();
  std::vector<std::string> warnings;  ///< that the task came up with, when it is over
  bool thread_waits = false;          ///< the one that calls work() leaves it to others
};

/// From {"threads": int, "memory": int, "progress": callable or None}.
TaskContext make_context(const pybind11::dict& task);

/// Calls work() without the GIL on another thread. Meanwhile this one looks for signals twenty times a second and calls
/// progress(done, total, label); an exception of either stops the work, and is thrown when it has ended. Refuses in a
/// process that was forked from one whose threads were in use: they are not there. Where the system refuses threads the
/// work is done by fewer, with a warning, or there is an Error.
void run_task(TaskContext& context, const pybind11::object& progress, const std::function<void(TaskContext&)>& work);

}  // namespace scrm::python
