// labels: fast threads
#include "scrm/engine/schedule/scheduler.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "support/jobs.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// The names in the order in which one thread runs them.
std::vector<std::string> order_of(std::vector<Job> jobs, SchedulerOptions options = {}) {
  std::vector<std::string> order;
  options.threads = 1;
  for (Job& job : jobs) job.run = [&order, name = job.name](const StopToken&) { order.push_back(name); };
  CHECK(run_jobs(std::move(jobs), options).empty());
  return order;
}

}  // namespace

TEST_CASE("scheduler: every job runs once, never more at a time than threads or memory allow") {
  constexpr int kJobs = 200, kBudget = 100;
  for (const int threads : {1, 2, 3, 8}) {
    for (const bool shuffled : {false, true}) {
      CAPTURE(threads);
      std::vector<std::atomic<int>> times(kJobs);
      std::atomic<int> running = 0, most_running = 0, held = 0, most_held = 0, done = 0;
      std::vector<Job> jobs;
      for (int i = 0; i < kJobs; ++i) {
        const int memory = (i * 37) % (kBudget + 1);
        jobs.push_back({std::to_string(i), static_cast<double>(i % 11), static_cast<std::size_t>(memory),
                        [&, i, memory](const StopToken&) {
                          const Counted one(running, most_running);
                          const Counted bytes(held, most_held, memory);
                          some_work(2000);
                          ++times[static_cast<std::size_t>(i)];
                        }});
      }
      SchedulerOptions options;
      options.threads = threads;
      options.memory = kBudget;
      if (shuffled) options.shuffle_seed = 5;
      options.on_done = [&](const Job&) { ++done; };
      CHECK(run_jobs(std::move(jobs), options).empty());
      for (const std::atomic<int>& count : times) CHECK(count == 1);
      CHECK(done == kJobs);
      CHECK(most_running <= threads);
      CHECK(most_held <= kBudget);
    }
  }
}

TEST_CASE("scheduler: no job, and all cores, are fine") {
  CHECK(run_jobs({}, {}).empty());
  std::atomic<int> count = 0;
  CHECK(run_jobs(jobs_that(5, [&](int, const StopToken&) { ++count; }), {}).empty());
  CHECK(count == 5);
}

TEST_CASE("scheduler: one thread runs the longest first and equals as they were given") {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Job> jobs = {{"a", 1, 0, {}},        {"b", 3, 0, {}},  {"c", 1, 0, {}}, {"d", 3, 0, {}},
                                 {"e", kUnknown, 0, {}}, {"f", -1, 0, {}}, {"g", 2, 0, {}}};
  CHECK(order_of(jobs) == std::vector<std::string>{"e", "b", "d", "g", "a", "c", "f"});
}

TEST_CASE("scheduler: a seed gives an order of its own, the same every time") {
  const std::vector<Job> jobs = jobs_that(30, [](int, const StopToken&) {});
  std::vector<std::vector<std::string>> orders = {order_of(jobs)};
  for (const std::uint64_t seed : {1, 2, 3}) {
    SchedulerOptions options;
    options.shuffle_seed = seed;
    orders.push_back(order_of(jobs, options));
    CHECK(order_of(jobs, options) == orders.back());
    CHECK(std::is_permutation(orders.back().begin(), orders.back().end(), orders.front().begin()));
  }
  std::sort(orders.begin(), orders.end());
  CHECK(std::unique(orders.begin(), orders.end()) == orders.end());
}

TEST_CASE("scheduler: a smaller job goes ahead of one that does not fit yet, whose turn comes") {
  Meeting meeting(2);
  std::mutex mutex;
  std::vector<std::string> ended;
  const auto end = [&](const std::string& name) {
    const std::lock_guard lock(mutex);
    ended.push_back(name);
  };
  std::vector<Job> jobs = {{"first", 3, 6,
                            [&](const StopToken&) {
                              CHECK(meeting.attend());  // only the third can be the other guest
                              end("first");
                            }},
                           {"second", 2, 6, [&](const StopToken&) { end("second"); }},
                           {"third", 1, 4, [&](const StopToken&) {
                              CHECK(meeting.attend());
                              end("third");
                            }}};
  SchedulerOptions options;
  options.threads = 2;
  options.memory = 10;
  CHECK(run_jobs(std::move(jobs), options).empty());
  CHECK(ended.size() == 3);
  CHECK(ended.front() != "second");
}

TEST_CASE("scheduler: a job beyond the whole budget is refused and the rest run") {
  std::vector<std::string> refused;
  std::atomic<int> ran = 0;
  const auto three = [&] {
    std::vector<Job> jobs = jobs_that(3, [&](int, const StopToken&) { ++ran; });
    for (Job& job : jobs) job.memory = std::size_t{1} << 20;
    jobs[1].memory = std::size_t{3} << 20;
    return jobs;
  };
  SchedulerOptions options;
  options.threads = 2;
  options.memory = std::size_t{2} << 20;
  options.on_refused = [&](const Job& job, const Error& error) {
    CHECK(job.name == "1");
    CHECK(error.kind() == ErrorKind::memory);
    refused.emplace_back(error.what());
  };
  CHECK(run_jobs(three(), options).empty());
  CHECK(ran == 2);
  CHECK(refused == std::vector<std::string>{"1 needs 3.0 MiB and the budget is 2.0 MiB; give a larger --memory"});
  options.on_refused = {};
  CHECK_THROWS_WITH_AS(run_jobs(three(), options), doctest::Contains("needs 3.0 MiB and the budget is 2.0 MiB"), Error);
  CHECK(ran == 4);
}

TEST_CASE("scheduler: what a job throws is told and stops no other, callbacks come one at a time") {
  for (const int threads : {1, 2, 8}) {
    std::atomic<int> inside = 0, most_inside = 0;
    int failed = 0, done = 0, foreign = 0;
    const auto throws_often = [](int i, const StopToken&) {
      if (i % 3 == 0) throw std::runtime_error("job " + std::to_string(i));
      if (i % 3 == 1) throw 42;
      some_work(100);
    };
    SchedulerOptions options;
    options.threads = threads;
    options.on_done = [&](const Job&) {
      const Counted one(inside, most_inside);
      ++done;
    };
    options.on_failed = [&](const Job& job, const std::exception_ptr& failure) {
      const Counted one(inside, most_inside);
      ++failed;
      try {
        std::rethrow_exception(failure);
      } catch (const std::runtime_error& error) {
        CHECK("job " + job.name == error.what());
      } catch (int) {
        ++foreign;
      }
    };
    CHECK(run_jobs(jobs_that(300, throws_often), options).empty());
    CHECK(failed == 200);
    CHECK(foreign == 100);
    CHECK(done == 100);
    CHECK(most_inside == 1);
  }
}

TEST_CASE("scheduler: without anyone to tell, the first failure is thrown when all jobs have ended") {
  std::atomic<int> ran = 0;
  SchedulerOptions options;
  options.threads = 2;
  const auto one_throws = [&](int i, const StopToken&) {
    ++ran;
    if (i == 7) throw std::domain_error("seven");
  };
  CHECK_THROWS_WITH_AS(run_jobs(jobs_that(20, one_throws), options), "seven", std::domain_error);
  CHECK(ran == 20);
}

TEST_CASE("scheduler: a callback that throws ends the whole, after the jobs that run") {
  for (const int threads : {1, 3}) {
    std::atomic<int> ran = 0;
    SchedulerOptions options;
    options.threads = threads;
    options.on_done = [](const Job&) { throw std::range_error("no more paper"); };
    const auto count = [&](int, const StopToken&) { ++ran; };
    CHECK_THROWS_WITH_AS(run_jobs(jobs_that(100, count), options), "no more paper", std::range_error);
    CHECK(ran >= 1);
    CHECK(ran <= threads);
  }
}

TEST_CASE("scheduler: after a request to stop nothing starts, and what was not started comes back") {
  for (const int threads : {1, 2, 8}) {
    CAPTURE(threads);
    std::atomic<int> begun = 0;
    int done = 0, failed = 0;
    SchedulerOptions options;
    options.threads = threads;
    options.on_done = [&](const Job&) { ++done; };
    options.on_failed = [&](const Job&, const std::exception_ptr&) { ++failed; };
    // The first asks for the end; all look at the token until it comes, and leave in the two ways there are.
    const auto work = [&](int i, const StopToken& stop) {
      ++begun;
      if (i == 49) options.stop.request();
      while (!stop.requested()) std::this_thread::yield();
      if (i % 2 == 0) stop.check();
    };
    std::vector<Job> left = run_jobs(jobs_that(50, work), options);
    CHECK(begun >= 1);
    CHECK(begun <= threads);
    CHECK(left.size() == 50 - static_cast<std::size_t>(begun));
    CHECK(failed == 0);
    CHECK(done >= 1);
    CHECK(done <= begun);
    CHECK(std::is_sorted(left.begin(), left.end(), [](const Job& a, const Job& b) { return a.cost < b.cost; }));
    // They are whole, and run another time.
    std::atomic<int> later = 0;
    for (Job& job : left) {
      REQUIRE(job.run);
      job.run = [&later](const StopToken&) { ++later; };
    }
    const std::size_t count = left.size();
    SchedulerOptions again;
    again.threads = threads;
    CHECK(run_jobs(std::move(left), again).empty());
    CHECK(later == static_cast<int>(count));
  }
  SchedulerOptions stopped;
  stopped.stop.request();
  CHECK(run_jobs(jobs_that(4, [](int, const StopToken&) { FAIL("must not run"); }), stopped).size() == 4);
}

TEST_CASE("scheduler: a job that runs jobs is told that it cannot, instead of waiting for ever") {
  SchedulerOptions options;
  options.threads = 1;
  const auto nest = [](int, const StopToken&) { run_jobs({}, {}); };
  CHECK_THROWS_WITH_AS(run_jobs(jobs_that(1, nest), options),
                       "a job cannot run other jobs: it would wait for the thread it is on", Error);
}

TEST_CASE("scheduler: what a job holds is gone when its memory counts as free") {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  std::vector<Job> jobs;
  jobs.push_back({"holds", 2, 6, [held = std::move(held)](const StopToken&) { CHECK(*held == 1); }});
  jobs.push_back({"looks", 1, 6, [watch](const StopToken&) { CHECK(watch.expired()); }});
  SchedulerOptions options;
  options.threads = 2;
  options.memory = 10;
  CHECK(run_jobs(std::move(jobs), options).empty());
}
