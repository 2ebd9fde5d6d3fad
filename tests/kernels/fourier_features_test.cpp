// labels: fast isa
#include "scrm/kernels/scores/fourier_features.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <vector>

#include "scrm/kernels/vector/aligned_array.hpp"
#include "scrm/kernels/vector/random.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// Rows of normal numbers, column-major, `rows` apart.
template <class Number>
AlignedArray<Number> contexts(int rows, std::int64_t features, std::uint64_t seed, double centre, double spread) {
  std::mt19937_64 random(seed);
  AlignedArray<Number> x = make_aligned<Number>(static_cast<std::size_t>(rows * features));
  for (std::int64_t at = 0; at < rows * features; ++at)
    x[static_cast<std::size_t>(at)] = static_cast<Number>(centre + spread * normal(random));
  return x;
}

template <class Number>
ContextMatrix matrix(const AlignedArray<Number>& x, int rows, std::int64_t features) {
  return {x.get(), sizeof(Number) == 4 ? FloatType::f32 : FloatType::f64, rows, features, rows};
}

std::vector<double> applied(const FourierTransform& transform, const ContextMatrix& x) {
  const auto cells = static_cast<std::size_t>(transform.width() * x.rows);
  AlignedArray<double> out = make_aligned<double>(cells);
  transform.apply(x, 0, transform.width(), out.get(), x.rows);
  return {out.get(), out.get() + cells};
}

/// The formula of the header in long double, from the same stream.
std::vector<long double> by_formula(const FourierFeatures& map, const double* x, std::int64_t features) {
  std::vector<long double> out;
  for (std::int64_t k = 0; k < map.width; ++k) {
    RandomStream random(map.seed, 0xF0A1, static_cast<std::uint64_t>(k));
    long double angle = 2 * std::numbers::pi_v<long double> * random.uniform();
    for (std::int64_t j = 0; j < features; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const long double centred = static_cast<long double>(x[j]) - (map.centre.empty() ? 0 : map.centre[at]);
      angle += random.normal() * centred / ((map.spread.empty() ? 1 : map.spread[at]) * map.bandwidth);
    }
    out.push_back(std::sqrt(2.0L / map.width) * std::cos(angle));
  }
  return out;
}

}  // namespace

TEST_CASE("fourier features: products approximate the gaussian kernel") {
  // Each of D terms 2 cos(a) cos(b) has the kernel as its mean and a variance of 1 at most, so the mean of D of them is
  // off by more than 4.5/√D with a probability below 1e-5 a pair; there are 45 pairs and the seed is fixed.
  constexpr std::int64_t kWidth = 8192, kFeatures = 3;
  constexpr int kRows = 16, kPairs = 10;
  for (const double bandwidth : {0.7, 2.0}) {
    const FourierTransform transform({.width = kWidth, .bandwidth = bandwidth, .seed = 5}, kFeatures);
    const AlignedArray<double> x = contexts<double>(kRows, kFeatures, 1, 0, 1);
    const std::vector<double> z = applied(transform, matrix(x, kRows, kFeatures));
    for (int a = 0; a < kPairs; ++a) {
      for (int b = 0; b <= a; ++b) {
        double product = 0, distance = 0;
        for (std::size_t k = 0; k < kWidth; ++k)
          product += z[k * kRows + static_cast<std::size_t>(a)] * z[k * kRows + static_cast<std::size_t>(b)];
        for (std::size_t j = 0; j < kFeatures; ++j) {
          const double gap = x[j * kRows + static_cast<std::size_t>(a)] - x[j * kRows + static_cast<std::size_t>(b)];
          distance += gap * gap;
        }
        const double kernel = std::exp(-distance / (2 * bandwidth * bandwidth));
        CHECK(product == doctest::Approx(kernel).scale(1).epsilon(4.5 / std::sqrt(kWidth)));
      }
    }
  }
}

TEST_CASE("fourier features: the formula of the header, whatever the units, the type and the tile") {
  for (const std::int64_t features : {1, 2, 31, 32, 33, 70}) {
    CAPTURE(features);
    FourierFeatures map{.width = 37, .bandwidth = 1.7, .seed = 11};
    for (std::int64_t j = 0; j < features; ++j) {
      map.centre.push_back(1e6 + static_cast<double>(j));
      map.spread.push_back(30.0 + static_cast<double>(j));
    }
    const FourierTransform transform(map, features);
    for (const int rows : {16, 64, 80, 2048}) {
      CAPTURE(rows);
      const AlignedArray<double> x = contexts<double>(rows, features, 3, 1e6, 40);
      const AlignedArray<float> narrow = contexts<float>(rows, features, 3, 1e6, 40);
      every_isa([&] {
        const std::vector<double> z = applied(transform, matrix(x, rows, features));
        const std::vector<double> of_floats = applied(transform, matrix(narrow, rows, features));
        double worst = 0, worst_of_floats = 0;
        for (int i = 0; i<rows; i += rows> 100 ? 97 : 1) {
          std::vector<double> row, narrow_row;
          for (std::int64_t j = 0; j < features; ++j) {
            row.push_back(x[static_cast<std::size_t>(j * rows + i)]);
            narrow_row.push_back(static_cast<double>(narrow[static_cast<std::size_t>(j * rows + i)]));
          }
          const std::vector<long double> truth = by_formula(map, row.data(), features);
          const std::vector<long double> of_row = by_formula(map, narrow_row.data(), features);
          for (std::size_t k = 0; k < truth.size(); ++k) {
            const std::size_t at = k * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i);
            worst = std::max(worst, static_cast<double>(std::abs(z[at] - truth[k])));
            worst_of_floats = std::max(worst_of_floats, static_cast<double>(std::abs(of_floats[at] - of_row[k])));
          }
        }
        // Angles are sums of up to 71 terms of size one, each rounded: some 1e-15 each.
        CHECK(worst < 1e-13);
        CHECK(worst_of_floats < 1e-13);
      });
    }
  }
}

TEST_CASE("fourier features: a row's bits do not depend on where it stands, nor on what is asked for beside it") {
  constexpr std::int64_t kFeatures = 45;
  const FourierTransform transform({.width = 50, .bandwidth = 3, .seed = 2}, kFeatures);
  const AlignedArray<double> x = contexts<double>(256, kFeatures, 9, 0, 1);
  const ContextMatrix all = matrix(x, 256, kFeatures);
  every_isa([&] {
    const std::vector<double> whole = applied(transform, all);
    AlignedArray<double> part = make_aligned<double>(7 * 16);
    for (int first = 0; first < 256; first += 48) {
      for (std::int64_t k = 0; k + 7 <= 50; k += 7) {
        transform.apply(context_tile(all, first, 16), k, 7, part.get(), 16);
        for (std::size_t c = 0; c < 7; ++c) {
          const double* expected = whole.data() + (static_cast<std::size_t>(k) + c) * 256 + first;
          REQUIRE(std::memcmp(expected, part.get() + c * 16, 16 * sizeof(double)) == 0);
        }
      }
    }
  });
}

TEST_CASE("fourier features: inputs may stand in any columns, among others that do not count") {
  const FourierFeatures map{.width = 20, .bandwidth = 1, .seed = 4, .centre = {1, 2}, .spread = {3, 4}};
  FourierFeatures moved = map;
  moved.columns = {2, 0};
  const AlignedArray<double> two = contexts<double>(16, 2, 6, 0, 1), three = contexts<double>(16, 3, 7, 0, 1);
  std::copy_n(two.get(), 16, three.get() + 32);
  std::copy_n(two.get() + 16, 16, three.get());
  const std::vector<double> plain = applied(FourierTransform(map, 2), matrix(two, 16, 2));
  const std::vector<double> among = applied(FourierTransform(moved, 3), matrix(three, 16, 3));
  for (std::size_t at = 0; at < plain.size(); ++at) CHECK(among[at] == doctest::Approx(plain[at]).epsilon(1e-12));
}
