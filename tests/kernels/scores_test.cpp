// labels: fast isa
#include "scrm/kernels/scores/scores.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "support/every_isa.hpp"
#include "support/reference/reference.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/sparse_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

// A score adds `terms` products in double: each addition may round by 2^-53 of the sum of magnitudes.
double tolerance(std::size_t terms) {
  return 1.2e-16 * static_cast<double>(terms + 2);
}

std::vector<double> random_theta(std::mt19937_64& random, std::int64_t width) {
  std::vector<double> theta(static_cast<std::size_t>(1 + width));
  for (double& t : theta) t = normal(random);
  return theta;
}

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

/// Error of a score, relative to the score of |θ| and |x|.
double score_error(double actual, const std::vector<double>& theta, reference::Reals x, FeatureMap map) {
  const long double expected = reference::score(theta.data(), x, map);
  for (long double& value : x) value = std::abs(value);
  return relative_error(actual, expected, reference::score(magnitudes(theta).data(), x, map));
}

template <class T>
struct DenseRows {
  DenseRows(std::mt19937_64& random, int features, int rows) : context(features) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(features) * kBlockRows; ++i) {
      context[i] = static_cast<T>(normal(random));
    }
    block.rows = rows;
    block.features = features;
    block.context_type = sizeof(T) == sizeof(float) ? FloatType::f32 : FloatType::f64;
    block.context = context.data();
  }

  reference::Reals row(int i) const {
    reference::Reals x;
    for (std::int64_t j = 0; j < block.features; ++j) x.push_back(context.at(i, j));
    return x;
  }

  Columns<T> context;
  Block block;
};

template <class T>
void check_dense(int features, FeatureMap map) {
  CAPTURE(features);
  std::mt19937_64 random(static_cast<std::uint64_t>(features) + 11);
  const DenseRows<T> rows(random, features, kBlockRows);
  const std::vector<double> theta = random_theta(random, mapped_features(map, features));
  Columns<double> out;
  block_scores(rows.block, map, theta.data(), out.data());
  Worst worst;
  for (int i = 0; i < kBlockRows; i += 1 + features / 50) {
    worst.add(i, score_error(out[i], theta, rows.row(i), map));
  }
  CAPTURE(worst.place);
  CHECK(worst.error <= tolerance(theta.size()));
}

}  // namespace

TEST_CASE("block_scores: dense linear scores equal the plain sum at every width and both float types") {
  every_isa([] {
    for (const int features : {0, 1, 4, 5, 6, 10, 257}) {
      check_dense<double>(features, FeatureMap::linear);
      check_dense<float>(features, FeatureMap::linear);
    }
  });
}

TEST_CASE("block_scores: dense quadratic scores equal the plain double sum") {
  every_isa([] {
    for (const int features : {0, 1, 4, 5, 6, 10, 33}) {
      check_dense<double>(features, FeatureMap::quadratic);
      check_dense<float>(features, FeatureMap::quadratic);
    }
  });
}

TEST_CASE("block_scores: the bits of a row's score do not depend on its place in the block") {
  std::mt19937_64 random(5);
  const DenseRows<double> rows(random, 7, kBlockRows);
  DenseRows<double> shifted(random, 7, kBlockRows);
  constexpr int kShift = 3;
  for (std::int64_t j = 0; j < 7; ++j) {
    for (int i = 0; i < kBlockRows; ++i) shifted.context.at(i, j) = rows.context.at((i + kShift) % kBlockRows, j);
  }
  every_isa([&] {
    for (const FeatureMap map : {FeatureMap::linear, FeatureMap::quadratic}) {
      const std::vector<double> theta = random_theta(random, mapped_features(map, 7));
      Columns<double> a, b;
      block_scores(rows.block, map, theta.data(), a.data());
      block_scores(shifted.block, map, theta.data(), b.data());
      int different = 0;
      for (int i = 0; i < kBlockRows; ++i) different += b[i] != a[(i + kShift) % kBlockRows];
      CHECK(different == 0);
    }
  });
}

TEST_CASE("block_scores: sparse scores equal the plain sum, with empty rows and repeated indices") {
  for (const int features : {1, 5, 40}) {
    for (const int rows : {1, 7, 300}) {
      for (const FeatureMap map : {FeatureMap::linear, FeatureMap::quadratic}) {
        CAPTURE(features);
        CAPTURE(rows);
        std::mt19937_64 random(static_cast<std::uint64_t>(features + rows));
        const SparseRows sparse(random, features, rows, true);
        const std::vector<double> theta = random_theta(random, mapped_features(map, features));
        Columns<double> out(1, -3.0);
        block_scores(sparse.block, map, theta.data(), out.data());
        Worst worst;
        for (int i = 0; i < rows; ++i) worst.add(i, score_error(out[i], theta, sparse.row(i), map));
        CAPTURE(worst.place);
        // A repeated index's values were summed first in the reference, and may cancel.
        CHECK(worst.error <= 10 * tolerance(theta.size()));
      }
    }
  }
}

TEST_CASE("mapped_context: any range of columns holds features, then products, in the order of theta") {
  constexpr int kFeatures = 6;
  std::mt19937_64 random(9);
  const DenseRows<double> wide(random, kFeatures, 100);
  const DenseRows<float> narrow(random, kFeatures, 100);
  const std::int64_t width = mapped_features(FeatureMap::quadratic, kFeatures);
  for (std::int64_t first = 0; first < width; ++first) {
    for (std::int64_t count = 1; first + count <= width; count += 2) {
      Columns<double> from_wide(count), from_narrow(count);
      mapped_context(wide.block, first, count, from_wide.data());
      mapped_context(narrow.block, first, count, from_narrow.data());
      int wrong = 0;
      for (std::int64_t column = 0; column < count; ++column) {
        // θ that picks this column alone, so that the reference's score is the column's value.
        std::vector<double> theta(static_cast<std::size_t>(1 + width), 0.0);
        theta[static_cast<std::size_t>(1 + first + column)] = 1.0;
        for (const int i : {0, 1, 57, 99}) {
          const auto value = [&](const reference::Reals& x) {
            return static_cast<double>(reference::score(theta.data(), x, FeatureMap::quadratic));
          };
          wrong += from_wide.at(i, column) != value(wide.row(i));
          wrong += from_narrow.at(i, column) != value(narrow.row(i));
        }
      }
      CAPTURE(first);
      CAPTURE(count);
      CHECK(wrong == 0);
    }
  }
}
