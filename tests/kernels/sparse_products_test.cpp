// labels: fast isa
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "scrm/kernels/scores/scores.hpp"
#include "scrm/kernels/weights/learning_terms.hpp"
#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

// Around one, two and all vectors of a tile of every instruction set, and beyond two tiles.
constexpr int kColumns[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 23, 24, 25, 47, 48, 49, 97, 130};

/// Rows with a quarter of their entries, some twice, and some rows without any.
struct SparseEntries {
  SparseEntries(std::mt19937_64& random, int features, int rows) : indptr(1, 0) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; i % 5 != 3 && j < features; ++j) {
        for (int copies = random() % 4 == 0 ? 1 + static_cast<int>(random() % 2) : 0; copies > 0; --copies) {
          indices.push_back(j);
          values.push_back(normal(random));
        }
      }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
    block.rows = rows;
    block.features = features;
    block.sparse = {indptr.data(), indices.data(), values.data()};
  }

  template <class Visit>
  void visit(int row, Visit&& visit) const {
    for (auto e = indptr[static_cast<std::size_t>(row)]; e < indptr[static_cast<std::size_t>(row) + 1]; ++e)
      visit(indices[static_cast<std::size_t>(e)], values[static_cast<std::size_t>(e)]);
  }

  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<double> values;
  Block block;
};

}  // namespace

TEST_CASE("sparse_scores: any rows and outputs have the bits of plain sums, and nothing else is written") {
  every_isa([] {
    for (const int all : kColumns) {
      CAPTURE(all);
      std::mt19937_64 random(static_cast<std::uint64_t>(all));
      const SparseEntries rows(random, 19, 45);
      std::vector<double> weights(static_cast<std::size_t>(20 * all));
      for (double& weight : weights) weight = normal(random);
      for (const int first_output : {0, all / 2}) {
        const int first_row = first_output == 0 ? 0 : 16, outputs = all - first_output;
        Columns<double> out(outputs + 1, -7.0);
        sparse_scores(
            rows.block, weights.data(), all,
            {.first_row = first_row, .rows = 64, .first_output = first_output, .outputs = outputs, .out = out.data()});
        int wrong = 0;
        for (int k = 0; k <= outputs; ++k) {
          for (int i = 0; i < 80; ++i) {
            double expected = -7.0;
            if (k < outputs && first_row + i < 45) {
              const auto at = [&](int j) { return weights[static_cast<std::size_t>(j * all + first_output + k)]; };
              expected = at(0);
              rows.visit(first_row + i, [&](int j, double x) { expected += x * at(1 + j); });
            }
            wrong += out.at(i, k) != expected;
          }
        }
        CHECK(wrong == 0);
      }
    }
  });
}

TEST_CASE("add_sparse_context_products: every product has the bits of plain sums, added to what is there") {
  every_isa([] {
    for (const int columns : kColumns) {
      for (const int count : {0, 1, 8, 45}) {
        CAPTURE(columns);
        CAPTURE(count);
        std::mt19937_64 random(static_cast<std::uint64_t>(columns + count));
        const SparseEntries rows(random, 19, count);
        Columns<double> coefficients(columns);
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(columns) * kBlockRows; ++i)
          coefficients[i] = normal(random);
        // One number more, which must stay.
        std::vector<double> out(static_cast<std::size_t>(19 * columns + 1));
        for (double& one : out) one = normal(random);
        std::vector<double> expected = out;
        for (int i = 0; i < count; ++i) {
          rows.visit(i, [&](int j, double x) {
            for (int c = 0; c < columns; ++c)
              expected[static_cast<std::size_t>(j * columns + c)] += x * coefficients.at(i, c);
          });
        }
        add_sparse_context_products(rows.block, coefficients.data(), columns, out.data());
        CHECK(out == expected);
      }
    }
  });
}
