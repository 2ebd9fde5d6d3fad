/// run_jobs: many independent jobs on all cores, the longest first, within a budget of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

struct Job {
  std::string name;
  double cost = 0;         ///< how long it takes, in any unit; NaN: unknown, which counts as longest
  std::size_t memory = 0;  ///< bytes it holds at most
  /// Shares nothing mutable with other jobs. Destroyed when it has ended, with all it holds.
  std::function<void(const StopToken&)> run;
};

/// Callbacks come from any thread, but never two at once. Should one throw, no new job starts and run_jobs throws it.
struct SchedulerOptions {
  int threads = 0;         ///< in all, inside jobs and across them; 0: all cores
  std::size_t memory = 0;  ///< bytes for all running jobs together; 0: no limit
  StopToken stop = {};
  std::optional<std::uint64_t> shuffle_seed = {};  ///< start in an order drawn from this seed, not the longest first

  std::function<void(const Job&)> on_done = {};
  /// What a job threw, which ends no other job. Without it, run_jobs throws the first of these when all have ended.
  std::function<void(const Job&, std::exception_ptr)> on_failed = {};
  /// Jobs whose memory alone is beyond the budget; they are not run. Without it, as for on_failed.
  std::function<void(const Job&, const Error&)> on_refused = {};
};

/// Runs every job once, at most `threads` at a time. A job starts when its memory fits beside those that run; until
/// then, smaller ones further down the list go first. With one thread, jobs run one by one in order. Threads that have
/// no job help those that run: their run_pass and their TBB loops get the idle cores and no more than those, and while
/// one job waits for a loop of its own, its thread never begins another job.
///
/// After a request to stop no job starts; those that run end when they look at the token, by returning or by throwing
/// StopRequested, which counts neither as done nor as failed. Returns the jobs that were not started, in the order in
/// which they were given. Throws when a job calls it.
std::vector<Job> run_jobs(std::vector<Job> jobs, const SchedulerOptions& options);

}  // namespace scrm
