// labels: fast
#include "scrm/engine/pass/row_mask.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace scrm;

TEST_CASE("row_mask: flags of any range are the bits of its rows") {
  for (const std::int64_t rows : {1, 63, 64, 65, 1000}) {
    const RowMask mask = RowMask::random(rows, 0.4, 3, 1);
    for (const std::int64_t first : {0, 1, 64, 128}) {
      std::vector<std::uint8_t> flags(2048, 7);
      mask.expand(first, 2048, flags.data());
      for (std::int64_t i = 0; i < 2048; ++i) {
        REQUIRE(flags[static_cast<std::size_t>(i)] == (first + i < rows && mask[first + i] ? 1 : 0));
      }
    }
  }
}

TEST_CASE("row_mask: counts, complements and intersections add up") {
  const RowMask mask = RowMask::random(1001, 0.25, 9, 0);
  CHECK(RowMask(1001).count() == 1001);
  CHECK((~mask).count() == 1001 - mask.count());
  CHECK((mask & ~mask).count() == 0);
  // Binomial with mean 250 and deviation 14: five deviations, a false alarm in two million.
  CHECK(std::abs(static_cast<double>(mask.count()) - 250) < 70);
}

TEST_CASE("row_mask: splits of one seed differ, and the same key gives the same rows") {
  const RowMask a = RowMask::random(500, 0.5, 1, 0), again = RowMask::random(500, 0.5, 1, 0),
                b = RowMask::random(500, 0.5, 1, 1);
  CHECK((a & ~again).count() == 0);
  CHECK((a & ~b).count() > 0);
}
