// labels: fast
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "estimate/groups/cluster_groups.hpp"
#include "estimate/groups/row_groups.hpp"
#include "estimate/groups/shape.hpp"
#include "support/heap.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// A block of losses and weights, a few of them huge.
struct WeightedBlock {
  Columns<double> loss{1}, propensity{1}, weights{1};
  std::vector<std::int64_t> cluster;
  Block block;

  explicit WeightedBlock(std::int64_t index, int rows = kBlockRows) : cluster(kBlockRows) {
    std::mt19937_64 random(static_cast<std::uint64_t>(index) + 7);
    for (int i = 0; i < kBlockRows; ++i) {
      loss[i] = normal(random);
      propensity[i] = 1;
      weights[i] = std::exp(2 * normal(random)) * (i % 701 == 3 ? 1e7 : 1);
      cluster[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(random() % 5000) - 2000;
    }
    block.first_row = index * kBlockRows;
    block.rows = rows;
    block.loss = loss.data();
    block.propensity = propensity.data();
    block.cluster = cluster.data();
  }
};

/// What the pass would know of the largest weights of both blocks.
TopRows top_of(const std::vector<WeightSums>& sums) {
  WeightSums all = sums[0];
  for (std::size_t s = 1; s < sums.size(); ++s) merge_weight_sums(all, sums[s], {});
  return all.top;
}

const Estimator* const kEstimators[] = {&kIpsEstimator, &kSnipsEstimator, &kClippedEstimator, &kIpsIxEstimator};

}  // namespace

TEST_CASE("row groups: whole blocks have the sums of their rows, clipped weights included") {
  const GroupLayout layout(1, {});
  for (const double clip : {0.0, 3.0}) {
    const WeightOptions rules{.alpha = 0.01, .clip = clip, .ranges = false};
    constexpr std::int64_t kBlocks = 4;
    RowGroups rows(kBlocks * kBlockRows, 1, layout), blocks(kBlocks * kBlockRows, 2 * kBlockRows, layout);
    CHECK(blocks.by_block());
    std::vector<WeightSums> sums(kBlocks);
    for (std::int64_t b = 0; b < kBlocks; ++b) {
      const WeightedBlock one(b, b == kBlocks - 1 ? 100 : kBlockRows);
      rows.add_block(one.block, 0, one.weights.data(), rules, nullptr);
      rows.add_block_losses(one.block);
      Columns<double> weights{1};
      std::copy_n(one.weights.data(), kBlockRows, weights.data());
      WeightSums& known = sums[static_cast<std::size_t>(b)];
      compute_weight_sums(one.block, weights.data(), rules, known);
      BlockSums whole;
      whole.first_row = one.block.first_row;
      whole.sums.resize(layout.width());
      whole.sums[GroupLayout::kRows] = one.block.rows;
      for (int i = 0; i < one.block.rows; ++i) whole.sums[GroupLayout::kLoss] += one.block.loss[i];
      whole.set_policy(layout, 0, known, rules);
      blocks.add_block_sums(whole);
    }
    const TopRows top = top_of(sums);
    const double largest = top.entries[TopRows::kSize - 1].weight;
    if (clip == 0) {
      rows.clip_top_rows(0, top, largest);
      blocks.clip_top_rows(0, top, largest);
    }
    REQUIRE(blocks.table().groups == 2);
    for (std::int64_t g = 0; g < 2; ++g) {
      for (std::size_t c = 0; c < layout.width(); ++c) {
        double expected = 0, size = 0;
        const std::int64_t end = g == 0 ? 2 * kBlockRows : 3 * kBlockRows + 100;
        for (std::int64_t row = g * 2 * kBlockRows; row < end; ++row) {
          expected += rows.table().group(row)[c];
          size += std::abs(rows.table().group(row)[c]);
        }
        CAPTURE(c);
        CHECK(std::abs(blocks.table().group(g)[c] - expected) <= 1e-12 * size);
      }
    }
  }
}

TEST_CASE("row groups: few groups for many policies, whole blocks for many rows, and always enough of them") {
  for (const std::int64_t rows : {1L, 100L, 32768L, 32769L, 1'000'000L, 8'388'608L, 100'000'000L, 10'000'000'000L}) {
    for (const std::size_t policies :
         {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{5}, std::size_t{100}}) {
      const std::int64_t size = RowGroups::shape_group_rows(rows, policies);
      const std::int64_t groups = (rows + size - 1) / size;
      CHECK(groups <= (policies <= 4 ? 32768 : 131072 / static_cast<std::int64_t>(policies) + 2048));
      CHECK((size == 1 || groups >= 1024));
    }
  }
  CHECK(RowGroups::shape_group_rows(32768, 1) == 1);
  CHECK(RowGroups::shape_group_rows(10'000'000, 1) == kBlockRows);
}

TEST_CASE("shape: moments of what groups add, with the estimators' own influence and with small changes alike") {
  const GroupLayout layout(2, {});
  RowGroups rows(300, 1, layout);
  const WeightedBlock first(1, 300), second(2, 300);
  Block block = first.block;
  block.first_row = 0;
  const WeightOptions rules{.alpha = 0.01, .clip = 3, .ranges = false};
  rows.add_block(block, 0, first.weights.data(), rules, nullptr);
  rows.add_block(block, 1, second.weights.data(), rules, nullptr);
  rows.add_block_losses(block);
  const std::vector<double> totals = rows.table().totals();
  for (const Estimator* estimator : kEstimators) {
    Estimator plain = *estimator;
    plain.influence = nullptr;
    for (const Baseline& baseline : {Baseline{}, Baseline{.kind = Baseline::Kind::logged},
                                     Baseline{.kind = Baseline::Kind::policy, .policy = 1}}) {
      const auto exact = shape_of(rows.table(), totals, {0, estimator, baseline});
      const auto numeric = shape_of(rows.table(), totals, {0, &plain, baseline});
      REQUIRE(exact);
      REQUIRE(numeric);
      CHECK(numeric->standard_error == doctest::Approx(exact->standard_error).epsilon(1e-6));
      CHECK(numeric->skewness == doctest::Approx(exact->skewness).epsilon(1e-6));
      CHECK(exact->groups == 300);
      CHECK(std::abs(exact->skewness) <= 1);
      CHECK(exact->concentration <= 1);
      CHECK(exact->concentration >= 1.0 / 300);
    }
  }
}

TEST_CASE("shape: groups are left out one by one, as if estimates were made again without each") {
  const GroupLayout layout(2, {});
  const WeightOptions rules{.alpha = 0.01, .clip = 3, .ranges = false};
  const WeightedBlock first(1, 40), second(2, 40);
  Block block = first.block;
  block.first_row = 0;
  for (int i = 0; i < block.rows; ++i) const_cast<std::int64_t*>(block.cluster)[i] = i < 12 ? 0 : i / 3;
  RowGroups rows(40, 1, layout);
  ClusterGroups clusters(layout);
  ClusterEntries entries;
  rows.add_block_losses(block);
  clusters.begin_block(block, entries);
  for (std::size_t p = 0; p < 2; ++p) {
    const double* weights = (p == 0 ? first : second).weights.data();
    rows.add_block(block, p, weights, rules, nullptr);
    clusters.add_block(block, p, weights, rules, nullptr, entries);
  }
  clusters.add(entries);
  for (const GroupTable* table : {&rows.table(), &clusters.table()}) {
    const std::vector<double> totals = table->totals();
    const auto groups = static_cast<double>(table->groups);
    for (const Estimator* estimator : kEstimators) {
      for (const Baseline& baseline : {Baseline{}, Baseline{.kind = Baseline::Kind::logged},
                                       Baseline{.kind = Baseline::Kind::policy, .policy = 1}}) {
        CAPTURE(estimator->name);
        const EstimateColumn column{0, estimator, baseline};
        const auto shape = shape_of(*table, totals, column);
        REQUIRE(shape);
        double sum = 0, squares = 0, cubes = 0, fourths = 0;
        for (std::int64_t g = 0; g < table->groups; ++g) {
          std::vector<double> others = totals;
          for (std::size_t c = 0; c < others.size(); ++c) others[c] -= table->group(g)[c];
          const double without = layout.value(others.data(), column);
          const double j = 40 * (1 - 1 / groups) * (layout.value(totals.data(), column) - without);
          sum += j;
          squares += j * j;
          cubes += j * j * j;
          fourths += j * j * j * j;
        }
        CHECK(shape->skewness == doctest::Approx(cubes / std::pow(squares, 1.5)).epsilon(1e-9));
        CHECK(shape->concentration == doctest::Approx(fourths / squares / squares).epsilon(1e-9));
        const double jackknife = std::sqrt(groups / (groups - 1) * squares) / 40;
        CHECK(shape->leverage == doctest::Approx(std::max(1.0, jackknife / shape->standard_error)).epsilon(1e-9));
        const bool ratio = estimator == &kSnipsEstimator;
        CHECK(shape->ratio_bias == doctest::Approx(ratio ? sum / 40 : 0).epsilon(1e-9));
        if (ratio) CHECK(shape->leverage > 1);
        if (!ratio && table == &rows.table()) CHECK(shape->leverage == 1);  // rows that count alike
      }
    }
  }
}

TEST_CASE("shape: additive without a group has another mean loss, which its error takes as given") {
  ExtraTerms extra;
  extra.labels = true;
  const GroupLayout layout(1, extra);
  const WeightedBlock first(1, 40);
  Block block = first.block;
  block.first_row = 0;
  std::vector<double> excess;  // a fifth below zero, as of ten labels whose weights α = 1/50 makes smaller
  for (int i = 0; i < block.rows; ++i) excess.push_back(0.3 * std::sin(7.0 * i) - 0.2);
  RowGroups rows(40, 1, layout);
  rows.add_block_losses(block);
  rows.add_block(block, 0, first.weights.data(), {.alpha = 0.02, .clip = 3, .ranges = false}, excess.data());
  const std::vector<double> totals = rows.table().totals();
  for (const Baseline& baseline : {Baseline{}, Baseline{.kind = Baseline::Kind::logged}}) {
    const EstimateColumn column{0, &kAdditiveEstimator, baseline};
    const auto shape = shape_of(rows.table(), totals, column);
    REQUIRE(shape);
    double squares = 0, cubes = 0;
    for (std::int64_t g = 0; g < 40; ++g) {
      std::vector<double> others = totals;
      for (std::size_t c = 0; c < others.size(); ++c) others[c] -= rows.table().group(g)[c];
      const double j = 39 * (layout.value(totals.data(), column) - layout.value(others.data(), column));
      squares += j * j;
      cubes += j * j * j;
    }
    CHECK(shape->skewness == doctest::Approx(cubes / std::pow(squares, 1.5)).epsilon(1e-9));
    const double jackknife = std::sqrt(40.0 / 39 * squares) / 40;
    CHECK(shape->leverage == doctest::Approx(std::max(1.0, jackknife / shape->standard_error)).epsilon(1e-9));
    if (baseline.kind == Baseline::Kind::none) CHECK(shape->leverage > 1.1);
  }
}

TEST_CASE("cluster groups: sums of clusters wherever they lie; too many are put together without losing a row") {
  ExtraTerms none;
  const GroupLayout layout(64, none);  // 2,048 clusters at most
  ClusterGroups few(GroupLayout(1, none)), many(layout);
  const WeightOptions rules{.alpha = 0.01, .clip = 3, .ranges = false};
  std::vector<double> rows(7000);
  double total = 0;
  for (std::int64_t b = 0; b < 10; ++b) {
    const WeightedBlock one(b, b == 9 ? 5 : kBlockRows);
    ClusterEntries entries, later;
    few.begin_block(one.block, entries);
    few.add_block(one.block, 0, one.weights.data(), rules, nullptr, entries);
    few.add(entries);
    many.begin_block(one.block, later);
    for (std::size_t p = 0; p < 64; ++p) many.add_block(one.block, p, one.weights.data(), rules, nullptr, later);
    many.add(later);
    for (int i = 0; i < one.block.rows; ++i) {
      rows[static_cast<std::size_t>(one.block.cluster[i] + 2000)] += 1;
      total += one.block.loss[i];
    }
  }
  CHECK_FALSE(few.merged());
  std::int64_t clusters = 0;
  for (const double count : rows) clusters += count > 0;
  CHECK(few.table().groups == clusters);
  CHECK(many.merged());
  CHECK(many.table().groups <= 2048);
  CHECK(many.table().groups > 1000);
  for (const ClusterGroups* groups : {&few, &many}) {
    double count = 0, loss = 0;
    for (std::int64_t g = 0; g < groups->table().groups; ++g) {
      count += groups->table().group(g)[GroupLayout::kRows];
      loss += groups->table().group(g)[GroupLayout::kLoss];
    }
    CHECK(count == 9 * kBlockRows + 5);
    CHECK(loss == doctest::Approx(total));
  }
}

TEST_CASE("row groups: what two ranks have added up is what one would have, huge weights included") {
  const GroupLayout layout(1, {});
  constexpr std::int64_t kBlocks = 8;
  const WeightOptions rules{.alpha = 0.01, .clip = 0, .ranges = false};
  for (const std::int64_t group : {std::int64_t{16}, std::int64_t{kBlockRows}, std::int64_t{2 * kBlockRows}}) {
    CAPTURE(group);
    const std::int64_t rows = (kBlocks - 1) * kBlockRows + 100;
    RowGroups whole(rows, group, layout), first(rows, group, layout), second(rows, group, layout);
    std::vector<WeightSums> sums(kBlocks);
    for (std::int64_t b = 0; b < kBlocks; ++b) {
      const WeightedBlock one(b, b == kBlocks - 1 ? 100 : kBlockRows);
      Columns<double> weights{1};
      std::copy_n(one.weights.data(), kBlockRows, weights.data());
      compute_weight_sums(one.block, weights.data(), rules, sums[static_cast<std::size_t>(b)]);
      for (RowGroups* groups : {&whole, b < 6 ? &first : &second}) {
        if (!groups->by_block()) {
          groups->add_block(one.block, 0, one.weights.data(), rules, nullptr);
          groups->add_block_losses(one.block);
          continue;
        }
        BlockSums block;
        block.first_row = one.block.first_row;
        block.sums.resize(layout.width());
        block.set_policy(layout, 0, sums[static_cast<std::size_t>(b)], rules);
        groups->add_block_sums(block);
      }
    }
    ByteStream out;
    second.transfer(6 * kBlockRows, kBlocks * kBlockRows, out);
    ByteStream in(out.take());
    first.transfer(6 * kBlockRows, kBlocks * kBlockRows, in);
    CHECK(in.left() == 0);
    const TopRows top = top_of(sums);
    for (RowGroups* groups : {&whole, &first}) groups->clip_top_rows(0, top, top.entries[TopRows::kSize - 1].weight);
    CHECK(first.table().sums == whole.table().sums);
  }
}

TEST_CASE("row groups: huge weights in every block take no memory, and have the same bits in any order of blocks") {
  constexpr std::int64_t kBlocks = 300;
  constexpr std::size_t kPolicies = 2;
  const GroupLayout layout(kPolicies, {});
  const WeightOptions rules{.alpha = 0.01, .clip = 0, .ranges = false};
  WeightedBlock one(0);
  Columns<double> weights{1};
  const auto set_block = [&](std::int64_t index) {
    std::mt19937_64 random(static_cast<std::uint64_t>(index) + 3);
    one.block.first_row = index * kBlockRows;
    // A dozen in a block, most of them two to a group of sixteen.
    for (int i = 0; i < kBlockRows; ++i) {
      const bool huge = i % 400 == 8 || i % 400 == 9 || i == 1000;
      weights[i] = huge ? std::exp2(21 + 30 * std::generate_canonical<double, 53>(random)) : one.weights[i] * 1e-7;
    }
  };
  std::vector<std::vector<double>> tables;
  std::vector<long double> exact;                // of the first policy, by group
  for (const std::int64_t step : {1, 299, 7}) {  // in order, backwards, in leaps
    const std::size_t before = heap_bytes();
    RowGroups groups(kBlocks * kBlockRows, 16, layout);
    TopRows top;
    for (std::int64_t b = 0; b < kBlocks; ++b) {
      set_block(b * step % kBlocks);
      for (std::size_t p = 0; p < kPolicies; ++p) groups.add_block(one.block, p, weights.data(), rules, nullptr);
      for (int i = 0; i < kBlockRows; ++i) {
        TopRows::Entry entry{weights[i], one.loss[i], one.block.first_row + i};
        for (int t = 0; t < TopRows::kSize; ++t) {
          if (entry.weight > top.entries[static_cast<std::size_t>(t)].weight)
            std::swap(entry, top.entries[static_cast<std::size_t>(t)]);
        }
      }
    }
    top.count = TopRows::kSize;
    const double clip = top.entries[TopRows::kSize - 1].weight;
    for (std::size_t p = 0; p < kPolicies; ++p) groups.clip_top_rows(p, top, clip);
    if (before > 0) {
      CHECK(heap_bytes() - before <= RowGroups::bytes(kBlocks * kBlockRows, 16, layout) + 1024);
      CHECK(heap_bytes() - before > RowGroups::bytes(kBlocks * kBlockRows, 16, layout) / 2);
    }
    tables.push_back(groups.table().sums);
    exact.assign(static_cast<std::size_t>(groups.table().groups), 0);
    for (std::int64_t b = 0; b < kBlocks; ++b) {
      set_block(b);
      for (int i = 0; i < kBlockRows; ++i) {
        const auto group = static_cast<std::size_t>((one.block.first_row + i) / 16);
        exact[group] += static_cast<long double>(std::min(weights[i], clip)) * one.loss[i];
      }
    }
    for (std::size_t p = 0; p < kPolicies; ++p) {
      double worst = 0;
      for (std::size_t g = 0; g < exact.size(); ++g) {
        const double sum = groups.table().group(static_cast<std::int64_t>(g))[layout.policy(p) + GroupLayout::kClipped];
        worst = std::max(worst, std::abs(sum - static_cast<double>(exact[g])) / (1 + std::abs(sum)));
      }
      // Two huge terms of opposite signs leave a difference of which their roundings are a part.
      CHECK(worst < 1e-9);
    }
  }
  CHECK(tables[1] == tables[0]);
  CHECK(tables[2] == tables[0]);
}

TEST_CASE("shape: what is expected of large weights that met no outcome, and only of single rows") {
  // Four rows of weight 10 without an outcome, 996 of weight 0.964 with one in ten.
  const GroupLayout layout(1, {});
  Columns<double> loss{1}, propensity{1}, weights{1};
  for (int i = 0; i < 1000; ++i) {
    weights[i] = i % 250 == 7 ? 10.0 : 960.0 / 996;
    loss[i] = i % 250 != 7 && i % 10 == 0 ? 1 : 0;
    propensity[i] = 1;
  }
  Block block;
  block.rows = 1000;
  block.loss = loss.data();
  block.propensity = propensity.data();
  for (const int size : {1, 4}) {
    RowGroups rows(1000, size, layout);
    rows.add_block(block, 0, weights.data(), {.alpha = 0.001, .clip = 20, .ranges = false}, nullptr);
    rows.add_block_losses(block);
    const auto shape = shape_of(rows.table(), rows.table().totals(), {0, &kIpsEstimator, {}});
    REQUIRE(shape);
    CHECK(shape->concentration < 0.015);
    if (size > 1) {
      CHECK(shape->expected_concentration == 0);
      continue;
    }
    // E[w^j] E_pi[y^j] by hand: outcomes are 0 or 1, and the policy meets 0.0964 of them.
    const double rate = 100 * (960.0 / 996) / 1000;
    const auto power = [](double j) { return (4 * std::pow(10, j) + 996 * std::pow(960.0 / 996, j)) / 1000; };
    const double first = rate, second = power(2) * rate, third = power(3) * rate, fourth = power(4) * rate;
    const double variance = second - first * first;
    CHECK(shape->expected_skewness == doctest::Approx((third - 3 * first * second + 2 * std::pow(first, 3)) /
                                                      std::pow(variance, 1.5) / std::sqrt(1000))
                                          .epsilon(1e-12));
    CHECK(shape->expected_concentration ==
          doctest::Approx((fourth - 4 * first * third + 6 * first * first * second - 3 * std::pow(first, 4)) /
                          (variance * variance * 1000))
              .epsilon(1e-12));
    CHECK(shape->expected_concentration > 5 * shape->concentration);
  }
}
