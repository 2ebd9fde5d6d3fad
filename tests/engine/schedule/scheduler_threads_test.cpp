// labels: fast threads
#include <doctest/doctest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "scrm/engine/schedule/scheduler.hpp"
#include "support/jobs.hpp"
#include "support/rows/random_rows.hpp"
#include "support/sanitizers.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// Sums whose bits change with any change in the order of merges.
double rugged_sum(Source& source, int threads, const std::function<void()>& inside) {
  PassOptions options;
  options.threads = threads;
  const auto compute = [&inside](const Block& block, double& out) {
    inside();
    out = 0;
    for (int i = 0; i < block.rows; ++i) out += std::exp(3 * block.loss[i]);
  };
  const auto merge = [](double& earlier, const double& later) {
    earlier = std::sqrt(earlier * earlier + later * later);
  };
  return run_pass(source, 0.0, compute, merge, options).first;
}

MemorySource some_source() {
  Schema schema;
  schema.features = 0;
  static const LoggedRows rows = random_rows(schema, 77 * kBlockRows + 5, 17);
  return make_source(rows);
}

}  // namespace

TEST_CASE("scheduler: passes inside jobs give the same bits, on no more threads than there may be") {
  MemorySource reference = some_source();
  const double expected = rugged_sum(reference, 1, [] {});
  for (const int threads : few_under_sanitizers<std::vector<int>>({1, 3}, {1, 2, 3, 8})) {
    for (const int pass_threads : {0, 1, threads}) {
      CAPTURE(threads);
      CAPTURE(pass_threads);
      std::atomic<int> inside = 0, most_inside = 0;
      std::vector<double> sums(6);
      const auto work = [&](int i, const StopToken&) {
        MemorySource source = some_source();
        sums[static_cast<std::size_t>(i)] = rugged_sum(source, pass_threads, [&] {
          const Counted one(inside, most_inside);
          some_work(100);
        });
      };
      SchedulerOptions options;
      options.threads = threads;
      options.shuffle_seed = 3;
      CHECK(run_jobs(jobs_that(6, work), options).empty());
      for (const double sum : sums) CHECK(sum == expected);
      CHECK(most_inside <= threads);
    }
  }
}

TEST_CASE("scheduler: a thread that waits inside a job never begins another one") {
  thread_local int depth = 0;
  for (const int threads : {1, 2, 3, 8}) {
    std::atomic<bool> nested = false;
    const auto work = [&](int i, const StopToken&) {
      if (++depth > 1) nested = true;
      tbb::parallel_for(0, 40, [](int) { some_work(300); });
      if (i % 20 == 0) {
        MemorySource source = some_source();
        rugged_sum(source, 0, [] {});
      }
      --depth;
    };
    SchedulerOptions options;
    options.threads = threads;
    CHECK(run_jobs(jobs_that(100, work), options).empty());
    CHECK_FALSE(nested);
  }
}

TEST_CASE("scheduler: threads without a job help the last one, in its loops and in its passes") {
  // A job has many of both, and TBB may once in a while wake nobody for one of them on a machine that is busy; threads
  // that never come are what this is about.
  constexpr int kLoops = 10;
  constexpr std::chrono::seconds kPatience{2};
  for (const int threads : {2, 4}) {
    bool helped_loop = false, helped_pass = false;
    SchedulerOptions options;
    options.threads = threads;
    const auto work = [&](int, const StopToken&) {
      some_work(1000000);  // time enough for idle threads to fall asleep
      for (int loop = 0; loop < kLoops && !helped_loop; ++loop) {
        Meeting meeting(threads);
        std::atomic<int> met = 0;
        tbb::parallel_for(
            0, threads, [&](int) { met += meeting.attend(kPatience) ? 1 : 0; }, tbb::simple_partitioner());
        helped_loop = met == threads;
      }
      MemorySource source = some_source();  // three groups, of which one thread takes one at a time
      for (int pass = 0; pass < kLoops && !helped_pass; ++pass) {
        Meeting meeting(2);
        std::atomic<bool> met = true;
        rugged_sum(source, threads, [&] {
          if (!meeting.attend(kPatience)) met = false;
        });
        helped_pass = met;
      }
    };
    CHECK(run_jobs(jobs_that(1, work), options).empty());
    CHECK(helped_loop);
    CHECK(helped_pass);
  }
}

TEST_CASE("scheduler: one thread is the caller's, which needs no other to be made") {
  std::vector<Job> jobs(3);
  std::vector<std::thread::id> ran_on;
  for (Job& job : jobs) {
    job.run = [&ran_on](const StopToken&) { ran_on.push_back(std::this_thread::get_id()); };
  }
  SchedulerOptions options;
  options.threads = 1;
  CHECK(run_jobs(std::move(jobs), options).empty());
  CHECK(ran_on == std::vector<std::thread::id>(3, std::this_thread::get_id()));
}
