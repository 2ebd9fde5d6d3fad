// labels: fast
#include "estimate/intervals/automatic.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace scrm;

namespace {

constexpr double kLevel = 0.95, kManyDegrees = 1e6;

/// N events of one size among very many rows.
Shape events(double n) {
  Shape shape;
  shape.groups = 1e6;
  shape.skewness = 1 / std::sqrt(n);
  shape.concentration = 1 / n;
  return shape;
}

}  // namespace

TEST_CASE("automatic: rare events end at the exact limit of their number") {
  // Garwood's (1936) upper limits of a Poisson mean at 95 %, of which few enough events get the whole.
  struct Limit {
    double events, upper;
  };
  for (const auto& [n, upper] : {Limit{1, 5.5716}, Limit{2, 7.2247}, Limit{3, 8.7673}, Limit{5, 11.6683}}) {
    CAPTURE(n);
    const auto [low, high] = automatic_interval(n, events(n), std::sqrt(n), kManyDegrees, kLevel);
    CHECK(high == doctest::Approx(upper).epsilon(0.005));
    CHECK(low < n - 1.96 * std::sqrt(n));
  }
}

TEST_CASE("automatic: the skewness has a side, and what is expected counts as what is seen") {
  Shape skewed = events(4);
  const auto right = automatic_interval(0, skewed, 1, kManyDegrees, kLevel);
  CHECK(right.second > -right.first);
  skewed.skewness = -skewed.skewness;
  const auto left = automatic_interval(0, skewed, 1, kManyDegrees, kLevel);
  CHECK(left.first == -right.second);
  CHECK(left.second == -right.first);

  Shape hiding = events(10'000);  // nothing to be seen
  const auto plain = automatic_interval(0, hiding, 1, kManyDegrees, kLevel);
  CHECK(plain.second == doctest::Approx(1.96).epsilon(1e-3));
  hiding.expected_skewness = 0.5;
  hiding.expected_concentration = 0.25;
  const auto foreseen = automatic_interval(0, hiding, 1, kManyDegrees, kLevel);
  CHECK(foreseen.second == doctest::Approx(right.second));
  CHECK(foreseen.first == doctest::Approx(right.first));
  CHECK(!hides_large_terms(hiding));
  hiding.expected_concentration = 2;
  CHECK(hides_large_terms(hiding));
}

TEST_CASE("automatic: intervals grow with their level and with the skewness, without a jump") {
  double before = 0;
  for (double g = 0; g < 1; g += 0.01) {
    Shape shape = events(1e6);
    shape.skewness = g;
    shape.concentration = std::max(g * g, 1e-6);
    const double high = automatic_interval(0, shape, 1, kManyDegrees, kLevel).second;
    CHECK(high >= before);
    if (g > 0) CHECK(high < before + 0.2);
    before = high;
  }
  for (const double n : {1.0, 4.0, 30.0}) {
    double end = 0;
    for (const double level : {0.5, 0.8, 0.95, 0.999, 1 - 1e-9}) {
      const double high = automatic_interval(0, events(n), 1, kManyDegrees, level).second;
      CHECK(high > end);
      end = high;
    }
  }
}

TEST_CASE("automatic: a difference is doubtful where few rows show what the policy does otherwise, unless it is none") {
  Shape difference = events(20), weights = events(5.5);
  CHECK(!is_difference_doubtful(difference, weights));
  weights = events(4);
  CHECK(is_difference_doubtful(difference, weights));
  CHECK(!is_difference_doubtful(Shape{}, weights));
  CHECK(is_difference_doubtful(events(1.9), events(100)));
}

TEST_CASE("automatic: as few clusters as ten may decide, and as few rows as five of fifty may not") {
  Shape shape;
  shape.groups = 10;
  shape.concentration = 0.3;  // as normal sums of ten clusters have it
  CHECK(!is_decided_by_few(shape));
  shape.groups = 50;
  CHECK(is_decided_by_few(shape));
  shape.groups = 1000;
  CHECK(!is_decided_by_few(shape));
  shape.skewness = std::sqrt(shape.concentration);  // three events
  CHECK(is_decided_by_few(shape));
}
