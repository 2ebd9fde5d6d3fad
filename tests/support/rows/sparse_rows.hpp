/// Rows with sparse contexts of normal values, a quarter of them there, for tests.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "scrm/kernels/block.hpp"
#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"

namespace scrm::testing {

struct SparseRows {
  SparseRows(std::mt19937_64& random, int features, int rows, bool repeats) : indptr(1, 0) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < features; ++j) {
        if (random() % 4 != 0) continue;
        for (int copies = repeats && random() % 5 == 0 ? 2 : 1; copies > 0; --copies) {
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

  reference::Reals row(int i) const {
    reference::Reals x(static_cast<std::size_t>(block.features));
    for (auto e = indptr[static_cast<std::size_t>(i)]; e < indptr[static_cast<std::size_t>(i) + 1]; ++e) {
      x[static_cast<std::size_t>(indices[static_cast<std::size_t>(e)])] += values[static_cast<std::size_t>(e)];
    }
    return x;
  }

  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  std::vector<double> values;
  Block block;
};

}  // namespace scrm::testing
