// labels: fast io
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pass/source/rollout_source.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/pass/write_shards.hpp"
#include "support/files.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

Schema clustered_schema() {
  Schema schema;
  schema.features = 2;
  schema.cluster = true;
  return schema;
}

/// A row as far as it matters here: its loss tells it from all others.
struct Row {
  double loss;
  std::int64_t cluster;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(const Block& block) {
  std::vector<Row> rows;
  for (int i = 0; i < block.rows; ++i) rows.push_back({block.loss[i], block.cluster[i]});
  return rows;
}

std::vector<Row> rows_of(Source& source) {
  std::vector<Row> rows;
  const auto loader = source.make_loader();
  Audit audit;
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    for (const Row& row : rows_of(source.load(*group, b, *loader, audit))) rows.push_back(row);
  }
  return rows;
}

std::vector<Row> rows_of(const LoggedRows& logged, std::int64_t begin, std::int64_t end) {
  std::vector<Row> rows;
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
    rows.push_back({logged.loss[i], logged.cluster[i]});
  return rows;
}

}  // namespace

TEST_CASE("clusters: shards cut anywhere, and memory filled from them, hold them beside their rows") {
  const LoggedRows logged = random_rows(clustered_schema(), 3 * kBlockRows + 77, 3);
  const std::vector<Row> expected = rows_of(logged, 0, logged.rows);
  MemorySource memory = make_source(logged);
  CHECK(rows_of(memory) == expected);
  for (const bool gzip : {false, true}) {
    const Folder folder;
    // Neither shards nor chunks end where blocks do.
    WriteOptions write;
    write.gzip = gzip;
    write.chunk_rows = 1000;
    write_shards(memory, plan_shards(folder.path.string(), logged.rows, 4), write, {});
    ShardSource shards(Dataset({folder.path.string()}, {.cluster = true}));
    CHECK(rows_of(shards) == expected);
    MemorySource held(shards, {}, false);
    CHECK(rows_of(held) == expected);
  }
}

TEST_CASE("clusters: rows that a mask leaves out take their number with them") {
  const LoggedRows logged = random_rows(clustered_schema(), kBlockRows + 500, 4);
  MemorySource memory = make_source(logged);
  const RowMask mask = RowMask::random(logged.rows, 0.3, 5, 0);
  MaskedSource masked(memory, mask);
  std::vector<Row> expected;
  for (std::int64_t i = 0; i < logged.rows; ++i)
    if (mask[i]) expected.push_back(rows_of(logged, i, i + 1).front());
  CHECK(rows_of(masked) == expected);
}

TEST_CASE("clusters: rollouts side by side have their own") {
  const LoggedRows first = random_rows(clustered_schema(), 100, 6), second = random_rows(clustered_schema(), 60, 7);
  MemorySource one = make_source(first), two = make_source(second);
  RolloutSource both({&one, &two});
  const auto loader = both.make_loader();
  const auto group = both.fetch(0, 1);
  Audit audit;
  const Block block = both.load(*group, 0, *loader, audit);
  CHECK(rows_of(block) == rows_of(first, 0, 100));
  REQUIRE(block.next_rollout != nullptr);
  CHECK(rows_of(*block.next_rollout) == rows_of(second, 0, 60));
}
