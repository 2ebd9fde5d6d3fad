// labels: fast
#include "scrm/engine/pass/row_split.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>

#include "scrm/engine/pass/memory_source.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr std::array<std::uint32_t, 2> kSplits = {0, 7};

}  // namespace

TEST_CASE("row_split: rows of a cluster are all in or all out, and clusters are drawn one by one") {
  Schema schema;
  schema.features = 1;
  schema.cluster = true;
  LoggedRows logged = random_rows(schema, 3 * kBlockRows + 77, 3);
  for (std::size_t i = 0; i < logged.cluster.size(); ++i)
    logged.cluster[i] = static_cast<std::int64_t>(i * 7919 % 400) - 200;
  MemorySource source = make_source(logged);
  CHECK(split_unit(source.schema()) == SplitUnit::cluster);
  std::vector<std::vector<RowMask>> by_threads;
  for (const int threads : {1, 7})
    by_threads.push_back(
        split_rows(source, SplitUnit::cluster, 0.75, 5, kSplits, {.threads = threads, .memory = 0, .progress = {}}));
  const std::vector<RowMask>& masks = by_threads.front();
  std::map<std::int64_t, std::array<bool, 2>> sides;
  for (std::int64_t i = 0; i < logged.rows; ++i) {
    const std::array<bool, 2> here = {masks[0][i], masks[1][i]};
    const auto [seen, first] = sides.emplace(logged.cluster[static_cast<std::size_t>(i)], here);
    REQUIRE(seen->second == here);
    REQUIRE(by_threads[1][0][i] == here[0]);
  }
  int in = 0, alike = 0;
  for (const auto& [cluster, side] : sides) {
    in += side[0] ? 1 : 0;
    alike += side[0] == side[1] ? 1 : 0;
  }
  // Of 400 clusters: binomial with means 300 and 250 and deviations 8.7 and 9.7; six deviations, one false alarm in
  // 10^8.
  CHECK(std::abs(in - 300) < 52);
  CHECK(std::abs(alike - 250) < 58);
}

TEST_CASE("row_split: rows that share a context stay together, and single rows are split as ever") {
  const RowMask four = RowMask::random(4 * 100 - 1, 0.5, 2, 0, 4), single = RowMask::random(100, 0.5, 2, 0);
  for (std::int64_t i = 0; i < four.rows(); ++i) REQUIRE(four[i] == single[i / 4]);
  Schema schema;
  schema.features = 1;
  MemorySource source = make_source(random_rows(schema, 500, 3));
  CHECK(split_unit(source.schema()) == SplitUnit::row);
  const RowMask rows = split_rows(source, SplitUnit::row, 0.75, 5, kSplits, {}).front(),
                expected = RowMask::random(500, 0.75, 5, 0);
  for (std::int64_t i = 0; i < 500; ++i) REQUIRE(rows[i] == expected[i]);
}
