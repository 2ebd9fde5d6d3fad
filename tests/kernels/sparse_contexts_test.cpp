// labels: fast isa
#include "scrm/kernels/scores/sparse_contexts.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/sparse_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

std::vector<double> normals(std::mt19937_64& random, std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

/// Number `e` of a vector, where numbers are counted in 64 bits.
template <class T>
T at(const std::vector<T>& values, std::int64_t e) {
  return values[static_cast<std::size_t>(e)];
}

}  // namespace

TEST_CASE("sparse_scores: every output is the plain sum, entry by entry, to the bit on every instruction set") {
  constexpr int kFeatures = 23, kRows = 150;
  constexpr std::int64_t kStride = kRows;
  for (const int outputs : {1, 2, 3, 4, 5, 7, 8, 9, 22, 31, 32, 33, 64, 70}) {
    CAPTURE(outputs);
    std::mt19937_64 random(static_cast<std::uint64_t>(outputs));
    const SparseRows sparse(random, kFeatures, kRows, true);
    const std::vector<double> weights = normals(random, static_cast<std::size_t>((1 + kFeatures) * outputs));
    const auto plain_sum = [&](int row, int k) {
      double sum = weights[static_cast<std::size_t>(k)];
      for (auto e = at(sparse.indptr, row); e < at(sparse.indptr, row + 1); ++e) {
        sum += at(sparse.values, e) * at(weights, (1 + at(sparse.indices, e)) * outputs + k);
      }
      return sum;
    };
    every_isa([&] {
      // All of them; and a range of rows and outputs that begins and ends inside.
      const ScoreRange whole = {.rows = kRows, .outputs = outputs, .stride = kStride};
      const ScoreRange part = {.first_row = 3,
                               .rows = 50,
                               .first_output = outputs / 3,
                               .outputs = outputs - outputs / 3 - outputs / 4,
                               .stride = kStride};
      const ScoreRange beyond = {.first_row = kRows - 5, .rows = 64, .outputs = outputs, .stride = kStride};
      for (ScoreRange range : {whole, part, beyond}) {
        std::vector<double> out(static_cast<std::size_t>(outputs * kStride), -3.0);
        range.out = out.data();
        sparse_scores(sparse.block, weights.data(), outputs, range);
        int wrong = 0;
        for (int k = 0; k < outputs; ++k) {
          for (int i = 0; i < kStride; ++i) {
            const bool inside = k < range.outputs && i < range.rows && range.first_row + i < kRows;
            const double expected = inside ? plain_sum(range.first_row + i, range.first_output + k) : -3.0;
            wrong += at(out, k * kStride + i) != expected;
          }
        }
        CHECK(wrong == 0);
      }
    });
  }
}

TEST_CASE("add_sparse_context_products: every sum is added row by row, to the bit on every instruction set") {
  constexpr int kFeatures = 19;
  for (const int rows : {1, 7, 8, 9, 300}) {
    for (const int columns : {1, 2, 3, 4, 6, 22, 127, 128, 131}) {
      CAPTURE(rows);
      CAPTURE(columns);
      std::mt19937_64 random(static_cast<std::uint64_t>(rows * 1000 + columns));
      const SparseRows sparse(random, kFeatures, rows, true);
      Columns<double> coefficients(columns);
      for (std::int64_t i = 0; i < std::int64_t{columns} * kBlockRows; ++i) coefficients[i] = normal(random);
      const std::vector<double> before = normals(random, static_cast<std::size_t>(kFeatures * columns));
      std::vector<double> expected = before;
      for (int i = 0; i < rows; ++i) {
        for (auto e = at(sparse.indptr, i); e < at(sparse.indptr, i + 1); ++e) {
          for (int c = 0; c < columns; ++c) {
            expected[static_cast<std::size_t>(at(sparse.indices, e) * columns + c)] +=
                at(sparse.values, e) * coefficients.at(i, c);
          }
        }
      }
      every_isa([&] {
        std::vector<double> out = before;
        add_sparse_context_products(sparse.block, coefficients.data(), columns, out.data());
        CHECK(out == expected);
      });
    }
  }
}
