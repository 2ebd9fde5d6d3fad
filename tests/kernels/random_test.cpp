// labels: fast statistical
#include "scrm/kernels/vector/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace {

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32-10 written out a second time from its definition (Salmon et al. 2011), as the reference.
Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

}  // namespace

TEST_CASE("random: the reference gives the published answers of Philox4x32-10") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random: a stream is Philox with the seed as key and row, stream and draw as counter") {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    for (const std::uint32_t stream : {0U, 1U, 0xffffffffU}) {
      for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{5}, (std::uint64_t{3} << 32) + 1}) {
        scrm::RandomStream random(seed, stream, row);
        for (std::uint32_t draw = 0; draw < 3; ++draw) {
          const Words words =
              philox({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), stream, draw},
                     {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
          CHECK(random.bits() == (words[0] | std::uint64_t{words[1]} << 32));
          CHECK(random.bits() == (words[2] | std::uint64_t{words[3]} << 32));
        }
      }
    }
  }
}

TEST_CASE("random: rows drawn backwards or alone are the rows drawn forwards") {
  std::vector<double> forwards;
  for (std::uint64_t row = 0; row < 100; ++row) {
    scrm::RandomStream random(3, 1, row);
    forwards.push_back(random.uniform());
    forwards.push_back(random.normal());
  }
  for (std::uint64_t row = 100; row-- > 0;) {
    scrm::RandomStream random(3, 1, row);
    CHECK(random.uniform() == forwards[2 * row]);
    CHECK(random.normal() == forwards[2 * row + 1]);
  }
}

TEST_CASE("random: another seed, stream or row gives other numbers") {
  std::set<std::uint64_t> seen;
  int drawn = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint32_t stream = 0; stream < 10; ++stream) {
      for (std::uint64_t row = 0; row < 100; ++row, ++drawn) seen.insert(scrm::RandomStream(seed, stream, row).bits());
    }
  }
  // Ten thousand 64-bit numbers collide with probability 3e-12.
  CHECK(seen.size() == static_cast<std::size_t>(drawn));
}

TEST_CASE("random: uniforms lie strictly between 0 and 1 and fill it evenly") {
  constexpr int kDraws = 200000;
  constexpr int kCells = 100;
  std::array<int, kCells> counts{};
  double smallest = 1;
  double largest = 0;
  for (std::uint64_t row = 0; row < kDraws; ++row) {
    const double u = scrm::RandomStream(11, 2, row).uniform();
    smallest = std::min(smallest, u);
    largest = std::max(largest, u);
    ++counts[static_cast<std::size_t>(u * kCells)];
  }
  CHECK(smallest > 0);
  CHECK(largest < 1);
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kDraws / kCells, 2) / (kDraws / kCells);
  // Chi-square with 99 degrees of freedom: outside this range with probability 1e-5 on each side.
  CHECK(chi_square > 49);
  CHECK(chi_square < 170);
}

TEST_CASE("random: normals have the moments of the standard normal, within a row and across rows") {
  constexpr int kRows = 100000;
  double sum = 0;
  double square = 0;
  double cube = 0;
  double fourth = 0;
  double product = 0;
  double neighbours = 0;
  double last = 0;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    scrm::RandomStream random(5, 3, row);
    const double a = random.normal();
    const double b = random.normal();
    product += a * b;
    neighbours += a * last;
    last = a;
    for (const double z : {a, b}) {
      sum += z;
      square += z * z;
      cube += z * z * z;
      fourth += z * z * z * z;
    }
  }
  const double n = 2.0 * kRows;
  // Each is within 4.5 standard errors (variances 1, 2, 15, 96, 1, 1): six two-sided checks, false alarms 4e-5 in all.
  CHECK(std::abs(sum / n) < 4.5 * std::sqrt(1 / n));
  CHECK(std::abs(square / n - 1) < 4.5 * std::sqrt(2 / n));
  CHECK(std::abs(cube / n) < 4.5 * std::sqrt(15 / n));
  CHECK(std::abs(fourth / n - 3) < 4.5 * std::sqrt(96 / n));
  CHECK(std::abs(product / kRows) < 4.5 * std::sqrt(1.0 / kRows));
  CHECK(std::abs(neighbours / kRows) < 4.5 * std::sqrt(1.0 / kRows));
}
