// labels: fast isa
#include "scrm/kernels/scores/tile_products.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "scrm/kernels/block.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

TEST_CASE("add_tile_products: adds the plain sums at every shape") {
  constexpr int kRows = 32, kStride = 64;
  for (const int outputs : {1, 2, 3, 5, 8, 13, 40}) {
    for (int columns = 1; columns <= kPanelWidth; ++columns) {
      CAPTURE(outputs);
      CAPTURE(columns);
      std::mt19937_64 random(static_cast<std::uint64_t>(100 * outputs + columns));
      Columns<double> slopes(2), panel;
      for (int i = 0; i < outputs * kStride; ++i) slopes[i] = normal(random);
      for (int i = 0; i < kRows * kPanelWidth; ++i) panel[i] = normal(random);
      const std::int64_t length = columns + 2;  // wider than needed: what stands between must stay
      every_isa([&] {
        std::vector<double> out(static_cast<std::size_t>(outputs * length), 0.5);
        add_tile_products({.slopes = slopes.data(),
                           .stride = kStride,
                           .outputs = outputs,
                           .rows = kRows,
                           .panel = panel.data(),
                           .columns = columns,
                           .out = out.data(),
                           .out_stride = length});
        Worst worst;
        for (int k = 0; k < outputs; ++k) {
          for (std::int64_t c = 0; c < length; ++c) {
            const double actual = out[static_cast<std::size_t>(k * length + c)];
            long double sum = 0.5L, size = 0.5L;
            for (int i = 0; c < columns && i < kRows; ++i) {
              const long double term = static_cast<long double>(slopes[k * kStride + i]) * panel[i * kPanelWidth + c];
              sum += term;
              size += std::abs(term);
            }
            worst.add(k * length + c, relative_error(actual, sum, size));
          }
        }
        CAPTURE(worst.place);
        CHECK(worst.error <= 1.2e-16 * (kRows + 2));
      });
    }
  }
}

TEST_CASE("fill_panel: every column times its row's factor, and nothing beside them") {
  for (const int rows : {4, 32, 64}) {
    for (int count = 0; count <= kPanelWidth; ++count) {
      CAPTURE(rows);
      CAPTURE(count);
      constexpr int kStride = 64;
      std::mt19937_64 random(static_cast<std::uint64_t>(count));
      Columns<double> columns, factor;
      for (int i = 0; i < kPanelWidth * kStride; ++i) columns[i] = normal(random);
      for (int i = 0; i < rows; ++i) factor[i] = normal(random);
      every_isa([&] {
        Columns<double> panel(1, -7);
        fill_panel(columns.data(), kStride, count, rows, factor.data(), panel.data());
        int wrong = 0;
        for (int i = 0; i < rows; ++i) {
          for (int c = 0; c < kPanelWidth; ++c) {
            wrong += panel[i * kPanelWidth + c] != (c < count ? factor[i] * columns[c * kStride + i] : -7);
          }
        }
        CHECK(wrong == 0);
        CHECK(panel[rows * kPanelWidth] == -7);
      });
    }
  }
}
