// labels: fast threads
#include "pass/pool.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>

#include "pass/parallel_indices.hpp"
#include "schedule/arena.hpp"

using namespace scrm;

namespace {

struct Counted {
  int users = 0;
};

}  // namespace

TEST_CASE("pool: what was given back is leased again, last in, first out") {
  int made = 0;
  Pool<Counted> pool([&made] {
    ++made;
    return std::make_unique<Counted>();
  });
  Counted* first = nullptr;
  {
    const auto a = pool.lease();
    const auto b = pool.lease();
    CHECK(a.get() != b.get());
    first = a.get();
  }
  CHECK(made == 2);
  CHECK(pool.lease().get() == first);
  CHECK(made == 2);
}

TEST_CASE("pool: a lease goes back when work throws") {
  Pool<Counted> pool;
  const Counted* leased = nullptr;
  try {
    const auto lease = pool.lease();
    leased = lease.get();
    throw std::runtime_error("no");
  } catch (const std::runtime_error&) {
  }
  CHECK(pool.lease().get() == leased);
}

TEST_CASE("pool: no two threads hold the same thing, and there are no more than threads") {
  constexpr int kThreads = 5;
  std::atomic<int> made = 0, shared = 0;
  Pool<Counted> pool([&made] {
    ++made;
    return std::make_unique<Counted>();
  });
  in_arena(kThreads, [&] {
    parallel_indices(20'000, [&](std::int64_t) {
      const auto lease = pool.lease();
      if (++lease->users != 1) ++shared;
      --lease->users;
    });
  });
  CHECK(shared == 0);
  CHECK(made <= kThreads);
}
