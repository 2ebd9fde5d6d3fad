// labels: fast threads
#include "schedule/arena.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace scrm;

namespace {

/// What is written to stderr while `work` runs.
template <class Work>
std::string stderr_of(Work&& work) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  work();
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text.push_back(static_cast<char>(c));
  std::fclose(file);
  return text;
}

std::size_t limit() {
  return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
}

}  // namespace

TEST_CASE("resolve_threads: what is asked for, or at least one core") {
  CHECK(resolve_threads(3) == 3);
  CHECK(resolve_threads(1000) == 1000);
  CHECK(resolve_threads(0) >= 1);
  CHECK(resolve_threads(-1) == resolve_threads(0));
}

TEST_CASE("in_arena: gives the threads asked for, more than cores included, and nobody complains") {
  const std::size_t before = limit();
  for (const int threads : {1, 2, 5, 3 * resolve_threads(0) + 1}) {
    CAPTURE(threads);
    int seen = 0;
    const std::string complaints = stderr_of([&] {
      in_arena(threads, [&] {
        seen = tbb::this_task_arena::max_concurrency();
        tbb::parallel_for(0, 1000, [](int) {});
        CHECK(limit() >= static_cast<std::size_t>(threads));
      });
    });
    CHECK(seen == threads);
    CHECK(complaints == "");
    CHECK(limit() == before);
  }
}

TEST_CASE("in_arena: lets exceptions through and leaves no limit behind") {
  const std::size_t before = limit();
  CHECK_THROWS_WITH_AS(in_arena(resolve_threads(0) + 3, [] { throw std::runtime_error("no"); }),
                       doctest::Contains("no"), std::runtime_error);
  CHECK(limit() == before);
}

TEST_CASE("in_arena: a limit that is high enough already stays as it is") {
  const auto cores = static_cast<std::size_t>(resolve_threads(0));
  const tbb::global_control high(tbb::global_control::max_allowed_parallelism, cores + 5);
  in_arena(static_cast<int>(cores) + 2, [&] { CHECK(limit() == cores + 5); });
}
