// labels: slow statistical
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "estimate/intervals/quantiles.hpp"
#include "estimate/intervals/sequence.hpp"

using namespace scrm;

namespace {

constexpr int kLogs = 1000, kLooks = 100, kLookRows = 200;
constexpr double kClicks = 0.1, kMostWeight = 10;

/// Terms w (y − 1/2) of clicks whose weights are 0.5 or, one time in nineteen, 10: they average to one.
std::vector<double> growing_log(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> terms;
  for (int i = 0; i < kLooks * kLookRows; ++i) {
    const double weight = uniform(random) < 1.0 / 19 ? kMostWeight : 0.5;
    terms.push_back(weight * ((uniform(random) < kClicks ? 1.0 : 0.0) - 0.5));
  }
  return terms;
}

struct Outcome {
  int held_throughout = 0;
  double relative_width = 0;  // of the last look, to a normal interval
};

/// How many logs are covered at all of their looks, by half widths of a prefix.
template <class HalfWidth>
Outcome outcome_of(HalfWidth half_width) {
  Outcome out;
  const double truth = kClicks - 0.5;
  for (int log = 0; log < kLogs; ++log) {
    const std::vector<double> terms = growing_log(static_cast<std::uint64_t>(log));
    EpochMoments epochs;
    Moments all;
    bool held = true;
    for (int look = 0; look < kLooks; ++look) {
      const double* part = terms.data() + look * kLookRows;
      epochs.add(look * kLookRows, part, kLookRows);
      double mean = 0;
      for (int i = 0; i < kLookRows; ++i) mean += part[i] / kLookRows;
      all.merge(moments_around(mean, part, kLookRows));
      const double half = half_width(epochs, all);
      held = held && std::abs(all.mean - truth) <= half;
      if (look == kLooks - 1) {
        const double normal = normal_upper_quantile(0.025) * all.standard_deviation() / std::sqrt(all.count);
        out.relative_width += half / normal / kLogs;
      }
    }
    out.held_throughout += held;
  }
  return out;
}

}  // namespace

// Of 1,000 logs that each hold with probability 95 % fewer than 930 do one time in 400; these intervals are meant to
// hold more often than that.
TEST_CASE(
    "sequence: with bounds it holds at 100 looks at once, and is at most 2.5 times as wide as a normal interval") {
  const TermBounds bounds{.mean = 0.5, .term = kMostWeight / 2};
  const Outcome outcome = outcome_of(
      [&](const EpochMoments& epochs, const Moments&) { return bounded_sequence_half_width(epochs, bounds, 0.95); });
  CHECK(outcome.held_throughout >= 950);
  CHECK(outcome.relative_width > 1.5);
  CHECK(outcome.relative_width < 2.5);
}

TEST_CASE("sequence: without bounds it holds at 100 looks at once too, where a normal interval fails") {
  const Outcome outcome = outcome_of([](const EpochMoments&, const Moments& all) {
    return asymptotic_sequence_half_width(all.standard_deviation() / std::sqrt(all.count), all.count, 0.95);
  });
  CHECK(outcome.held_throughout >= 950);
  CHECK(outcome.relative_width < 2.5);
  const Outcome normal = outcome_of([](const EpochMoments&, const Moments& all) {
    return normal_upper_quantile(0.025) * all.standard_deviation() / std::sqrt(all.count);
  });
  CHECK(normal.held_throughout < 850);
}

TEST_CASE("sequence: epochs are the same whatever blocks the rows come in") {
  const std::vector<double> terms = growing_log(5);
  EpochMoments whole;
  for (int first = 0; first < 20000; first += 2000) whole.add(first, terms.data() + first, 2000);
  EpochMoments pieces;
  for (int first = 0, rows = 1; first < 20000; first += rows, rows = rows % 1999 + 7) {
    EpochMoments piece;
    piece.add(first, terms.data() + first, std::min(rows, 20000 - first));
    pieces.merge(piece);
  }
  REQUIRE(pieces.epochs.size() == whole.epochs.size());
  REQUIRE(whole.epochs.size() == 16);  // rows 0, 1, 2-3, ..., 16384-32767
  for (std::size_t e = 0; e < whole.epochs.size(); ++e) {
    CHECK(pieces.epochs[e].count == whole.epochs[e].count);
    CHECK(pieces.epochs[e].mean == doctest::Approx(whole.epochs[e].mean).epsilon(1e-12));
  }
  CHECK(whole.epochs[0].count == 1);
  CHECK(whole.epochs[1].count == 1);
  CHECK(whole.epochs[11].count == 1024);
}
