// labels: fast isa
#include "scrm/kernels/weights/weight_sums.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "support/every_isa.hpp"
#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;
using reference::Real;
using reference::Reals;

namespace {

struct Rows {
  std::vector<double> w, y;
};

/// Weights 10^u with u uniform on ±decades, a share of them zero, losses of both signs.
Rows random_rows(int n, double decades, double zeros = 0) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n) * 7 + static_cast<std::uint64_t>(decades));
  Rows rows;
  for (int i = 0; i < n; ++i) {
    const double w = std::pow(10.0, uniform(random, -decades, decades));
    rows.w.push_back(uniform(random, 0, 1) < zeros ? 0.0 : w);
    rows.y.push_back(normal(random) - 0.3);
  }
  return rows;
}

/// Sums over rows [first, first + count) as one block. Padding holds numbers that would spoil the sums.
WeightSums block_sums(const Rows& rows, int first, int count, const WeightOptions& rules) {
  Columns<double> w(1, 1e7), y(1, -1e9);
  for (int i = 0; i < count; ++i) {
    w[i] = rows.w[static_cast<std::size_t>(first + i)];
    y[i] = rows.y[static_cast<std::size_t>(first + i)];
  }
  Block block;
  block.first_row = first;
  block.rows = count;
  block.loss = y.data();
  WeightSums out;
  compute_weight_sums(block, w.data(), rules, out);
  return out;
}

WeightSums merged_sums(const Rows& rows, const std::vector<int>& sizes, const WeightOptions& rules) {
  WeightSums all;
  int first = 0;
  for (const int size : sizes) {
    merge_weight_sums(all, block_sums(rows, first, size, rules), rules);
    first += size;
  }
  return all;
}

/// The top rows join the others, as at the end of an evaluation.
WeightSums finished(WeightSums sums, const WeightOptions& rules) {
  for (int t = 0; t < sums.top.count; ++t) {
    const TopRows::Entry& entry = sums.top.entries[static_cast<std::size_t>(t)];
    add_row(sums, entry.weight, entry.loss, rules);
  }
  return sums;
}

// Every mean is compared on the scale of the mean magnitude (a sum of both signs may cancel to nothing), spreads and
// ranges on their own. 1e-13 leaves room for a few hundred roundings of 2^-53.
constexpr double kTolerance = 1e-13;

void check_moments(const Moments& actual, const Reals& expected) {
  const Reals sizes = reference::map_rows(expected, expected, [](Real x, Real) { return std::abs(x); });
  CHECK(actual.count == static_cast<double>(expected.size()));
  CHECK(relative_error(actual.true_mean(), reference::mean(expected), reference::mean(sizes)) <= kTolerance);
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  CHECK(relative_error(actual.range(), *high - *low) <= kTolerance);
  if (expected.size() < 2) return;
  CHECK(relative_error(actual.standard_deviation(), std::sqrt(reference::sample_variance(expected))) <= kTolerance);
}

void check_sums(const WeightSums& actual, const Rows& rows, const WeightOptions& rules) {
  const Reals w(rows.w.begin(), rows.w.end()), y(rows.y.begin(), rows.y.end());
  const Real alpha = rules.alpha, clip = rules.clip;
  check_moments(actual.weight, w);
  check_moments(actual.ips, reference::map_rows(w, y, [](Real a, Real b) { return a * b; }));
  check_moments(actual.ix, reference::map_rows(w, y, [alpha](Real a, Real b) { return a * b / (1 + alpha * a); }));
  if (clip > 0) {
    check_moments(actual.clipped, reference::map_rows(w, y, [clip](Real a, Real b) { return std::min(a, clip) * b; }));
  }
  const Real squares = reference::sum(reference::map_rows(w, y, [](Real a, Real) { return a * a; }));
  const Real weight = std::ldexp(static_cast<Real>(actual.square.weight), 2 * actual.square.exponent);
  CHECK(std::abs(weight - squares) <= kTolerance * squares);
  for (const double centre : {0.0, 0.7, -100.0}) {
    const Real around = reference::sum(
        reference::map_rows(w, y, [centre](Real a, Real b) { return a * a * (b - centre) * (b - centre); }));
    CHECK(relative_error(actual.square.root_square_sum_around(centre), std::sqrt(around)) <= kTolerance);
  }
}

/// Places of the rows in descending order of weight, the earlier first among equals.
std::vector<int> places_by_weight(const Rows& rows) {
  std::vector<int> places(rows.w.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&rows](int a, int b) {
    return rows.w[static_cast<std::size_t>(a)] > rows.w[static_cast<std::size_t>(b)];
  });
  return places;
}

void check_top(const TopRows& top, const Rows& rows) {
  const std::vector<int> places = places_by_weight(rows);
  REQUIRE(top.count == static_cast<int>(std::min<std::size_t>(rows.w.size(), TopRows::kSize)));
  for (int t = 0; t < top.count; ++t) {
    const int place = places[static_cast<std::size_t>(t)];
    CHECK(top.entries[static_cast<std::size_t>(t)].row == place);
    CHECK(top.entries[static_cast<std::size_t>(t)].weight == rows.w[static_cast<std::size_t>(place)]);
    CHECK(top.entries[static_cast<std::size_t>(t)].loss == rows.y[static_cast<std::size_t>(place)]);
  }
}

bool same_bits(const Moments& a, const Moments& b) {
  return a.count == b.count && a.mean == b.mean && a.square_sum == b.square_sum && a.lowest == b.lowest &&
         a.highest == b.highest && a.exponent == b.exponent;
}

}  // namespace

TEST_CASE("weight sums: one block of any length equals the plain sums, at any spread of the weights") {
  every_isa([] {
    for (const int n : {1, 2, 4, 5, 6, 7, 8, 9, 13, 37, 2047, 2048}) {
      for (const double decades : {0.5, 5.0, 100.0, 300.0}) {
        for (const double clip : {0.0, 1.5}) {
          CAPTURE(n);
          CAPTURE(decades);
          CAPTURE(clip);
          const WeightOptions rules{1e-3, clip};
          const Rows rows = random_rows(n, decades);
          const WeightSums sums = block_sums(rows, 0, n, rules);
          check_top(sums.top, rows);
          check_sums(finished(sums, rules), rows, rules);
        }
      }
    }
  });
}

TEST_CASE("weight sums: weights that are all huge or all tiny keep their digits") {
  for (const double centre : {1e300, 1e-300, 1e160, 1e-160}) {
    for (const int n : {3, 40, 2048}) {
      CAPTURE(centre);
      CAPTURE(n);
      Rows rows = random_rows(n, 2.0);
      for (double& w : rows.w) w *= centre;
      const WeightOptions rules{0.01, 2.0};
      check_sums(finished(block_sums(rows, 0, n, rules), rules), rows, rules);
    }
  }
}

TEST_CASE("weight sums: merged blocks equal the plain sums over all rows, however rows are split") {
  for (const double decades : {1.0, 300.0}) {
    for (const std::vector<int>& sizes : std::vector<std::vector<int>>{
             {1, 1, 1, 1, 1, 1, 1}, {2048, 1}, {3, 2048, 5, 2047}, {7, 0, 6}, {2048, 2048, 2048, 17}}) {
      CAPTURE(decades);
      CAPTURE(sizes.size());
      const WeightOptions rules{0.02, 3.0};
      const Rows rows = random_rows(std::accumulate(sizes.begin(), sizes.end(), 0), decades);
      const WeightSums sums = merged_sums(rows, sizes, rules);
      check_top(sums.top, rows);
      check_sums(finished(sums, rules), rows, rules);
    }
  }
}

TEST_CASE("weight sums: blocks of very different magnitude merge without losing the larger or overflowing") {
  Rows rows = random_rows(300, 0.5);
  for (std::size_t i = 0; i < rows.w.size(); ++i) rows.w[i] *= i < 100 ? 1e-280 : (i < 200 ? 1.0 : 1e290);
  const WeightOptions rules{0.1, 1.0};
  for (const std::vector<int>& sizes :
       std::vector<std::vector<int>>{{100, 100, 100}, {50, 50, 50, 50, 50, 50}, {300}}) {
    check_sums(finished(merged_sums(rows, sizes, rules), rules), rows, rules);
  }
}

TEST_CASE("weight sums: zero weights count as rows and carry nothing") {
  for (const double zeros : {0.5, 0.99, 1.0}) {
    const Rows rows = random_rows(500, 2.0, zeros);
    const WeightOptions rules{0.1, 1.0};
    const WeightSums sums = finished(merged_sums(rows, {200, 300}, rules), rules);
    CHECK(sums.weight.count == 500);
    if (zeros < 1) {
      check_sums(sums, rows, rules);
    } else {
      for (const Moments& m : {sums.weight, sums.ips, sums.ix, sums.clipped}) {
        CHECK(m.mean == 0);
        CHECK(m.square_sum == 0);
        CHECK(m.range() == 0);
      }
      CHECK(sums.square.weight == 0);
    }
  }
}

TEST_CASE("weight sums: equal weights and constant losses have exactly no variance, in one block and merged") {
  every_isa([] {
    for (const double w : {1.0, 0.1, 3e250}) {
      for (const double y : {-0.7, 0.1}) {
        const Rows rows{std::vector<double>(5000, w), std::vector<double>(5000, y)};
        const WeightOptions rules{0.3, 0.05};
        for (const std::vector<int>& sizes :
             std::vector<std::vector<int>>{{2048}, {2047, 7}, {2048, 2048, 904}, {1, 2, 4, 5, 6, 7}}) {
          const WeightSums sums = merged_sums(rows, sizes, rules);
          CHECK(sums.weight.square_sum == 0);
          CHECK(sums.square.square_sum == 0);
          if (sums.weight.count > 0) CHECK(sums.weight.true_mean() == w);
          if (sums.square.weight > 0) CHECK(sums.square.mean == y);
          const WeightSums all = finished(sums, rules);
          CHECK(all.weight.square_sum == 0);
          CHECK(all.ips.square_sum == 0);
          CHECK(all.square.square_sum == 0);
          CHECK(all.ips.range() == 0);
          CHECK(all.weight.true_mean() == w);
          CHECK(all.square.mean == y);
        }
      }
    }
  });
}

TEST_CASE("weight sums: among equal largest weights the earlier rows are the top ones, within and across blocks") {
  every_isa([] {
    Rows rows = random_rows(2048 + 100, 0.5);
    for (const std::size_t i : {3, 700, 701, 1500, 2047, 2048, 2060}) rows.w[i] = 10.0;
    check_top(merged_sums(rows, {2048, 100}, {}).top, rows);
    check_top(merged_sums(rows, {10, 2038, 100}, {}).top, rows);
    const Rows equal{std::vector<double>(2100, 1.0), std::vector<double>(2100, 2.0)};
    check_top(merged_sums(equal, {2048, 52}, {}).top, equal);
    Rows ascending = random_rows(2048, 0.5);
    std::sort(ascending.w.begin(), ascending.w.end());
    check_top(merged_sums(ascending, {2048}, {}).top, ascending);
  });
}

TEST_CASE("weight sums: the same merges in the same order give the same bits") {
  const Rows rows = random_rows(6000, 50.0);
  const WeightOptions rules{0.01, 5.0};
  const WeightSums a = finished(merged_sums(rows, {2048, 2048, 1904}, rules), rules);
  const WeightSums b = finished(merged_sums(rows, {2048, 2048, 1904}, rules), rules);
  CHECK(same_bits(a.weight, b.weight));
  CHECK(same_bits(a.ips, b.ips));
  CHECK(same_bits(a.ix, b.ix));
  CHECK(same_bits(a.clipped, b.clipped));
}

TEST_CASE("weight sums: a mean far from zero does not spoil the variance") {
  Rows rows = random_rows(4000, 0.5);
  for (std::size_t i = 0; i < rows.w.size(); ++i) {
    rows.w[i] = 1.0;
    rows.y[i] += 1e8;
  }
  // The first rows are where the shift comes from: make them unlike the others.
  for (std::size_t i = 0; i < 40; ++i) rows.y[i] -= 1e3;
  const WeightOptions rules{1e-9, 2.0};
  const WeightSums sums = finished(merged_sums(rows, {2048, 1952}, rules), rules);
  const Reals y(rows.y.begin(), rows.y.end());
  CHECK(relative_error(sums.ips.standard_deviation(), std::sqrt(reference::sample_variance(y))) <= 1e-12);
}

TEST_CASE("column_moments and additive_sums: equal the plain moments at every length, around any centre") {
  every_isa([] {
    for (const int n : {1, 2, 3, 7, 8, 9, 2047, 2048}) {
      CAPTURE(n);
      std::mt19937_64 random(static_cast<std::uint64_t>(n));
      Columns<double> loss(1, 1e9), excess(1, -1e9);
      Reals y, s, u;
      for (int i = 0; i < n; ++i) {
        loss[i] = uniform(random, 0, 1);
        excess[i] = 5 * normal(random);
        y.push_back(loss[i]);
        s.push_back(excess[i]);
        u.push_back(y.back() + (y.back() - 0.25L) * s.back());
      }
      Block block;
      block.rows = n;
      block.loss = loss.data();
      check_moments(column_moments(block.loss, block.rows), y);
      AdditiveSums sums = additive_sums(block, excess.data(), 0.75);
      sums.recentre(0.25);
      const PairMoments& pair = sums.pair;
      const auto count = static_cast<std::size_t>(n);
      const Real uu = reference::centred_products(u, u, count), ss = reference::centred_products(s, s, count);
      CHECK(pair.count == n);
      CHECK(relative_error(pair.mean_a, reference::mean(u), 1 + std::abs(reference::mean(u))) <= kTolerance);
      CHECK(relative_error(pair.mean_b, reference::mean(s), 1 + std::abs(reference::mean(s))) <= kTolerance);
      if (n == 1) continue;
      CHECK(relative_error(pair.aa, uu) <= kTolerance);
      CHECK(relative_error(pair.bb, ss) <= kTolerance);
      CHECK(relative_error(pair.ab, reference::centred_products(u, s, count), std::sqrt(uu * ss)) <= kTolerance);
    }
  });
}
