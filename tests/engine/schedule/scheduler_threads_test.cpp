// labels: fast threads
#include <doctest/doctest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "scrm/engine/schedule/scheduler.hpp"
#include "support/jobs.hpp"
#include "support/rows/random_rows.hpp"

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
  return make_source(random_rows(schema, 77 * kBlockRows + 5, 17));
}

}  // namespace

TEST_CASE("scheduler: passes inside jobs give the same bits, on no more threads than there may be") {
  MemorySource reference = some_source();
  const double expected = rugged_sum(reference, 1, [] {});
  for (const int threads : {1, 2, 3, 8}) {
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
  for (const int threads : {2, 4}) {
    Arrivals in_loops(threads), in_passes(2);
    SchedulerOptions options;
    options.threads = threads;
    const auto work = [&](int, const StopToken&) {
      some_work(1000000);  // time enough for idle threads to fall asleep
      // On a busy machine threads wake late, and one loop may be over before: there are many, as in any job.
      while (in_loops.awaited()) {
        const auto body = [&](int) {
          in_loops.note();
          some_work(1000);
        };
        tbb::parallel_for(0, 16 * threads, body, tbb::simple_partitioner());
      }
      MemorySource source = some_source();  // three groups, of which one thread takes one at a time
      while (in_passes.awaited()) rugged_sum(source, threads, [&] { in_passes.note(); });
    };
    CHECK(run_jobs(jobs_that(1, work), options).empty());
    CHECK(in_loops.complete());
    CHECK(in_passes.complete());
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
