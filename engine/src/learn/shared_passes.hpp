/// SharedPasses: searches that run side by side and share every pass over the rows.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

#include "scrm/engine/objective.hpp"

namespace scrm {

/// Each search runs on a thread of its own and asks for one objective at a time. When all that are still searching have
/// asked, one pass answers them all. What a search gets does not depend on the others: results are the same bits as if
/// it ran alone.
class SharedPasses {
 public:
  SharedPasses(Source& source, const PassOptions& options, bool skip_bad_rows, std::size_t searches)
      : source_(source), options_(options), skip_bad_rows_(skip_bad_rows), active_(searches) {}

  /// Waits for the pass that answers this problem; rethrows what that pass threw.
  ObjectiveValue evaluate(ObjectiveProblem problem);

  /// A search has ended; it may be the one that the others were waiting for.
  void leave();

 private:
  struct Request {
    ObjectiveProblem problem;
    ObjectiveValue answer;
    std::exception_ptr failure;
    bool done = false;
  };

  void run_if_complete(std::unique_lock<std::mutex>& lock);

  Source& source_;
  PassOptions options_;
  bool skip_bad_rows_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<Request*> waiting_;
  std::size_t active_;
};

}  // namespace scrm
