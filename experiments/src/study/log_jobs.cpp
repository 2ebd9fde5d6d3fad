#include "study/log_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {

std::int64_t chunk_logs(std::int64_t rows, std::int64_t logs) {
  constexpr std::int64_t kChunkRows = 1 << 16, kMostLogs = 64, kMostChunks = 256;
  return std::max(std::clamp<std::int64_t>(kChunkRows / rows, 1, kMostLogs), (logs + kMostChunks - 1) / kMostChunks);
}

void require_log_counts(std::int64_t logs, const std::vector<std::int64_t>& rows) {
  if (logs < 1) throw Error(ErrorKind::usage, "a study needs at least one log");
  if (!std::all_of(rows.begin(), rows.end(), [](std::int64_t count) { return count >= 1; }))
    throw Error(ErrorKind::usage, "a log needs at least one row");
}

void add_log_jobs(const LogJobs& logs, std::vector<Job>& jobs,
                  const std::function<void(std::size_t chunk, LogRange range, const StopToken& stop)>& run) {
  const std::int64_t size = chunk_logs(logs.rows, logs.logs);
  for (std::int64_t first = 0; first < logs.logs; first += size) {
    const LogRange range{first, std::min(first + size, logs.logs)};
    jobs.push_back({fmt::format("a log of {} rows of the design {}", logs.rows, logs.design.name),
                    static_cast<double>((range.last - range.first) * logs.rows), logs.bytes,
                    [run, range, chunk = static_cast<std::size_t>(first / size)](const StopToken& stop) {
                      run(chunk, range, stop);
                    }});
  }
}

void run_log_jobs(std::vector<Job> jobs, int threads, std::size_t memory, const Progress& progress) {
  double total = 0, done = 0;
  for (const Job& job : jobs) total += job.cost;
  SchedulerOptions scheduler;
  scheduler.threads = resolve_threads(threads);
  scheduler.memory = memory;
  if (memory > 0) {
    // Threads may have a quarter of the memory; logs have what they leave.
    const std::size_t most = memory / 4 / kThreadBytes;
    scheduler.threads = static_cast<int>(std::clamp<std::size_t>(most, 1, static_cast<std::size_t>(scheduler.threads)));
    scheduler.memory = memory - static_cast<std::size_t>(scheduler.threads - 1) * kThreadBytes;
  }
  // A callback that throws ends the starting of jobs.
  scheduler.on_failed = [](const Job&, const std::exception_ptr& failure) { std::rethrow_exception(failure); };
  scheduler.on_refused = [](const Job&, const Error& error) { throw error; };
  scheduler.on_done = [&](const Job& job) {
    done += job.cost;
    if (progress) progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
  };
  run_jobs(std::move(jobs), scheduler);
}

}  // namespace scrm
