// labels: fast
#include "scrm/engine/estimate/weight_histogram.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/io/shard/block_buffer.hpp"

using namespace scrm;

TEST_CASE("weight histogram: a weight lies in the bin whose edges hold it, at the edges and beyond them too") {
  for (int bin = 1; bin < WeightHistogram::kBins; ++bin) {
    const double edge = WeightHistogram::lower_edge(bin);
    CHECK(WeightHistogram::bin_of(edge) == bin);
    CHECK(WeightHistogram::bin_of(std::nextafter(edge, 0.0)) == std::max(1, bin - 1));
  }
  CHECK(WeightHistogram::lower_edge(WeightHistogram::bin_of(1.0)) == 1.0);
  CHECK(WeightHistogram::bin_of(0.0) == 0);
  CHECK(WeightHistogram::bin_of(std::numeric_limits<double>::denorm_min()) == 1);
  CHECK(WeightHistogram::bin_of(1e300) == WeightHistogram::kBins - 1);
  CHECK(WeightHistogram::bin_of(std::numeric_limits<double>::infinity()) == WeightHistogram::kBins - 1);
}

TEST_CASE("weight histogram: counts every row once, alike on any number of threads") {
  Schema schema;
  schema.action_kind = ActionKind::categorical;
  schema.num_actions = 2;
  schema.targets = {"policy"};
  MemorySource source(schema);
  constexpr int kRows = 3 * kBlockRows + 17;
  for (int first = 0; first < kRows; first += kBlockRows) {
    auto block = std::make_unique<BlockBuffer>(schema);
    const int rows = std::min(kBlockRows, kRows - first);
    for (int i = 0; i < rows; ++i) {
      block->category()[i] = 0;
      block->loss()[i] = 1;
      block->propensity()[i] = 0.25;
      block->target(0)[i] = (first + i) % 4 == 0 ? 0.0 : 0.5;  // weights 0 and 2
    }
    source.append(std::move(block), rows);
  }
  const std::vector<NamedPolicy> policies = {{"policy", make_target_column_policy(0)}};
  for (const int threads : {1, 3}) {
    PassOptions pass;
    pass.threads = threads;
    const std::vector<WeightHistogram> histograms = weight_histograms(source, policies, pass);
    REQUIRE(histograms.size() == 1);
    CHECK(histograms[0].count(0) == (kRows + 3) / 4);
    CHECK(histograms[0].count(WeightHistogram::bin_of(2.0)) == kRows - (kRows + 3) / 4);
  }
}
