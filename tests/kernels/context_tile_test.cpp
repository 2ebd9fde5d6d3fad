// labels: fast isa
#include "scrm/kernels/scores/context_tile.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "scrm/kernels/scores/score_tile.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// The same numbers in columns and row by row, the latter at an address that no number would choose.
template <class T>
struct Contexts {
  explicit Contexts(std::int64_t width)
      : features(width), columns(width), rows(static_cast<std::size_t>(width * kBlockRows) * sizeof(T) + 1) {
    std::mt19937_64 random(31);
    for (std::int64_t j = 0; j < features; ++j) {
      for (int i = 0; i < kBlockRows; ++i) put(i, j, static_cast<T>(normal(random)));
    }
  }
  void put(int row, std::int64_t column, T value) {
    columns.at(row, column) = value;
    std::memcpy(rows.data() + 1 + static_cast<std::size_t>(row * features + column) * sizeof(T), &value, sizeof(T));
  }
  Block block(bool by_row) const {
    Block block;
    block.rows = kBlockRows;
    block.features = features;
    block.context_type = sizeof(T) == sizeof(float) ? FloatType::f32 : FloatType::f64;
    if (by_row) {
      block.context_by_row = rows.data() + 1;
    } else {
      block.context = columns.data();
    }
    return block;
  }
  std::int64_t features;
  Columns<T> columns;
  std::vector<std::byte> rows;
};

template <class T>
void check_gathered() {
  for (const std::int64_t features : {1, 2, 3, 10, 31, 64}) {
    const Contexts<T> contexts(features);
    for (const int first : {0, 64, 1984}) {
      for (const int rows : {32, 64}) {
        for (const bool by_row : {false, true}) {
          Columns<double> tile(4, -1e9);
          gather_context_tile(contexts.block(by_row), first, rows, tile.data());
          int wrong = 0;
          for (std::int64_t j = 0; j < features; ++j) {
            for (int i = 0; i < rows; ++i) wrong += tile[j * rows + i] != contexts.columns.at(first + i, j);
          }
          CAPTURE(features);
          CAPTURE(by_row);
          CHECK(wrong == 0);
          CHECK(tile[features * rows] == -1e9);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("gather_context_tile: every number in its place, from columns and from rows at any address") {
  every_isa([] {
    check_gathered<double>();
    check_gathered<float>();
  });
}

TEST_CASE("largest_score_bound: no score is farther from zero, and the farthest possible one is reached") {
  every_isa([] {
    constexpr int kFeatures = 5;
    const Contexts<double> contexts(kFeatures);
    const std::vector<double> b = {0.5, 1, 0, 2, 0.25, 3};
    Columns<double> tile;
    gather_context_tile(contexts.block(true), 64, kScoreTileRows, tile.data());
    double expected = 0;
    for (int i = 64; i < 64 + kScoreTileRows; ++i) {
      double one = b[0];
      for (int j = 0; j < kFeatures; ++j)
        one += b[static_cast<std::size_t>(1 + j)] * std::abs(contexts.columns.at(i, j));
      expected = std::max(expected, one);
    }
    CHECK(relative_error(largest_score_bound(tile.data(), kFeatures, kScoreTileRows, b.data()), expected) < 1e-15);
  });
}

TEST_CASE("largest_score_bound: is not finite where one context is not, in any place and whatever the coefficients") {
  every_isa([] {
    constexpr int kFeatures = 3;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::vector<double> b = {0.5, 1, 0, 2};
    for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
      for (int i = 0; i < kScoreTileRows; ++i) {
        for (int j = 0; j < kFeatures; ++j) {
          Contexts<double> contexts(kFeatures);
          contexts.put(i, j, bad);
          Columns<double> tile;
          gather_context_tile(contexts.block(true), 0, kScoreTileRows, tile.data());
          CHECK_FALSE(std::isfinite(largest_score_bound(tile.data(), kFeatures, kScoreTileRows, b.data())));
        }
      }
    }
  });
}
