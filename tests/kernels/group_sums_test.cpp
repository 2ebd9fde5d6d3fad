// labels: fast isa
#include "scrm/kernels/weights/group_sums.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "scrm/kernels/block.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

constexpr int kWidth = 7;
constexpr double kBefore = 0.25;  // what every sum holds beforehand

struct Rows {
  explicit Rows(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < kBlockRows; ++i) {
      weights[i] = std::exp(normal(random));
      losses[i] = normal(random);
    }
  }
  Columns<double> weights, losses;
};

/// The sum of `term` over the rows of each group, and of its size.
struct Expected {
  std::vector<long double> sums, sizes;

  template <class Term>
  Expected(const RowsOfGroups& groups, Term term) {
    for (int i = 0; i < groups.rows; ++i) {
      const auto group = static_cast<std::size_t>((groups.offset + i) / groups.group_rows);
      if (sums.size() <= group) sums.resize(group + 1, kBefore);
      if (sizes.size() <= group) sizes.resize(group + 1, kBefore);
      const long double value = term(i);
      sums[group] += value;
      sizes[group] += std::abs(value);
    }
  }
};

void check_column(const std::vector<double>& found, int column, const Expected& expected) {
  Worst worst;
  for (std::size_t g = 0; g < expected.sums.size(); ++g) {
    const double sum = found[g * kWidth + static_cast<std::size_t>(column)];
    worst.add(static_cast<std::int64_t>(g), relative_error(sum, expected.sums[g], expected.sizes[g]));
  }
  CAPTURE(column);
  CAPTURE(worst.place);
  CHECK(worst.error < 2e-15);  // at most 128 additions one after the other, and few digits at random are all wrong
}

template <class Check>
void every_shape(Check check) {
  for (const std::int64_t size : {1, 2, 3, 4, 8, 16, 32, 33, 256, 2048, 4096}) {
    for (const int rows : {0, 1, 2, 15, 16, 17, 31, 100, 2047, 2048}) {
      for (const std::int64_t offset : {std::int64_t{0}, size - 1, size / 2}) {
        CAPTURE(size);
        CAPTURE(rows);
        CAPTURE(offset);
        std::vector<double> sums(static_cast<std::size_t>((kBlockRows + 2) * kWidth), kBefore);
        check(RowsOfGroups{rows, size, offset, sums.data(), kWidth}, sums);
      }
    }
  }
}

}  // namespace

TEST_CASE("add_weight_groups: every group has the sums of its rows, whatever its size and where the block begins") {
  const Rows rows(1);
  const double* w = rows.weights.data();
  const double* y = rows.losses.data();
  constexpr double kAlpha = 0.3, kClip = 1.2;
  every_isa([&] {
    for (const double clip : {0.0, kClip}) {
      every_shape([&](const RowsOfGroups& groups, const std::vector<double>& sums) {
        add_weight_groups(groups, {.weight = 1, .ips = 2, .clipped = 4, .ix = 5}, w, y, kAlpha, clip);
        const auto real = [](double value) { return static_cast<long double>(value); };
        const auto clipped = [&](int i) { return clip > 0 ? std::min(w[i], clip) : w[i]; };
        check_column(sums, 1, Expected(groups, [&](int i) { return real(w[i]); }));
        check_column(sums, 2, Expected(groups, [&](int i) { return real(w[i]) * y[i]; }));
        check_column(sums, 4, Expected(groups, [&](int i) { return real(clipped(i)) * y[i]; }));
        check_column(sums, 5, Expected(groups, [&](int i) { return real(w[i]) * y[i] / (1 + real(kAlpha) * w[i]); }));
        // What is not asked for stays.
        for (const int other : {0, 3, 6}) check_column(sums, other, Expected(groups, [](int) { return 0.0L; }));
      });
    }
  });
}

TEST_CASE("add_weight_groups: without a place for clipped weights nothing else changes") {
  const Rows rows(2);
  every_isa([&] {
    every_shape([&](const RowsOfGroups& groups, const std::vector<double>& sums) {
      add_weight_groups(groups, {.weight = 1, .ips = 2, .clipped = 4, .ix = 5}, rows.weights.data(), rows.losses.data(),
                        0.1, 0);
      std::vector<double> without(sums.size(), kBefore);
      RowsOfGroups others = groups;
      others.sums = without.data();
      add_weight_groups(others, {.weight = 1, .ips = 2, .clipped = -1, .ix = 5}, rows.weights.data(),
                        rows.losses.data(), 0.1, 0);
      int different = 0;
      for (std::size_t at = 0; at < sums.size(); ++at) {
        different += without[at] != (at % kWidth == 4 ? kBefore : sums[at]);
      }
      CHECK(different == 0);
    });
  });
}

TEST_CASE("add_column_groups: every group has the sum of its rows, whatever its size and where the block begins") {
  const Rows rows(3);
  every_isa([&] {
    every_shape([&](const RowsOfGroups& groups, const std::vector<double>& sums) {
      add_column_groups(groups, 3, rows.losses.data());
      check_column(sums, 3, Expected(groups, [&](int i) { return static_cast<long double>(rows.losses[i]); }));
      for (const int other : {0, 1, 2, 4, 5, 6}) check_column(sums, other, Expected(groups, [](int) { return 0.0L; }));
    });
  });
}
