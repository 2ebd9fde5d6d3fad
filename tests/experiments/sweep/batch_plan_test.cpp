// labels: fast
#include "scrm/experiments/batch_plan.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

#include <cstdint>

using namespace scrm;

TEST_CASE("batch_plan: batches follow each other without a gap") {
  for (const Growth growth : {Growth::doubling, Growth::linear}) {
    for (const std::int64_t first : {1, 3, 100, 1'000'000'000}) {
      const BatchPlan plan{first, growth};
      CHECK(plan.begin(0) == 0);
      CHECK(plan.rows(0) == first);
      for (int batch = 0; batch < 30; ++batch) {
        CAPTURE(batch);
        CHECK(plan.begin(batch + 1) == plan.begin(batch) + plan.rows(batch));
      }
    }
  }
}

TEST_CASE("batch_plan: a doubling plan of 100 rows has 102,300 rows in ten batches, a linear one 5,500") {
  const BatchPlan doubling{100, Growth::doubling}, linear{100, Growth::linear};
  CHECK(doubling.rows(9) == 51'200);
  CHECK(doubling.begin(10) == 102'300);
  CHECK(linear.rows(9) == 1'000);
  CHECK(linear.begin(10) == 5'500);
}

TEST_CASE("batch_plan: every row belongs to the batch between whose ends it lies") {
  for (const Growth growth : {Growth::doubling, Growth::linear}) {
    for (const std::int64_t first : {1, 2, 100}) {
      const BatchPlan plan{first, growth};
      for (std::int64_t row = 0; row < 5000; ++row) {
        const int batch = plan.batch_of(row);
        REQUIRE(plan.begin(batch) <= row);
        REQUIRE(row < plan.begin(batch + 1));
      }
      // First and last row of a batch far out.
      CHECK(plan.batch_of(plan.begin(20)) == 20);
      CHECK(plan.batch_of(plan.begin(21) - 1) == 20);
    }
  }
}

TEST_CASE("batch_plan: a plan of 2^60 rows does not overflow") {
  constexpr int kRollouts = 30;
  const BatchPlan plan{1'000'000'000, Growth::doubling};
  CHECK(plan.begin(kRollouts) == 1'000'000'000 * ((std::int64_t{1} << kRollouts) - 1));
  CHECK(plan.rows(kRollouts) > plan.begin(kRollouts));
}
