// labels: fast isa
#include "scrm/kernels/scores/context_matrix.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "support/every_isa.hpp"
#include "support/rows/columns.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

/// A block of contexts that `replays` rows share each, and two columns past the last, which no product may touch.
template <class T>
struct Contexts {
  Contexts(std::mt19937_64& random, std::int64_t features, int contexts, int replays) : values(features + 2) {
    for (std::int64_t i = 0; i < (features + 2) * kBlockRows; ++i) values[i] = static_cast<T>(normal(random));
    block.rows = contexts * replays;
    block.replays = replays;
    block.features = features;
    block.context_type = sizeof(T) == sizeof(float) ? FloatType::f32 : FloatType::f64;
    block.context = values.data();
  }

  double at(int row, std::int64_t feature) const {
    return static_cast<double>(values[feature * context_stride(block.replays) + row]);
  }

  Columns<T> values;
  Block block;
};

// A sum of `terms` products may round by 2^-53 of the sum of their magnitudes with each.
double tolerance(std::int64_t terms) {
  return 1.2e-16 * static_cast<double>(terms + 2);
}

template <class T>
void check_scores(std::int64_t features, int outputs, int contexts, int replays) {
  std::mt19937_64 random(static_cast<std::uint64_t>(features * 100 + outputs));
  const Contexts<T> rows(random, features, contexts, replays);
  std::vector<double> theta(static_cast<std::size_t>(outputs * (1 + features)));
  for (double& t : theta) t = normal(random);
  Columns<double> out(outputs, -7.0);
  context_scores(valid_contexts(rows.block), theta.data(), outputs, out.data());
  Worst worst;
  for (int k = 0; k < outputs; ++k) {
    const double* t = theta.data() + k * (1 + features);
    for (int i = 0; i < contexts; i += 1 + contexts / 40) {
      long double sum = t[0], size = std::abs(t[0]);
      for (std::int64_t j = 0; j < features; ++j) {
        sum += static_cast<long double>(t[1 + j]) * rows.at(i, j);
        size += std::abs(static_cast<long double>(t[1 + j]) * rows.at(i, j));
      }
      worst.add(k * kBlockRows + i, relative_error(out.at(i, k), sum, size));
    }
  }
  CAPTURE(worst.place);
  CHECK(worst.error <= tolerance(features));
}

template <class T>
void check_products(std::int64_t features, int columns, int contexts, int replays) {
  std::mt19937_64 random(static_cast<std::uint64_t>(features * 100 + columns));
  const Contexts<T> rows(random, features, contexts, replays);
  Columns<double> coefficients(columns);
  for (int c = 0; c < columns; ++c) {
    for (int i = 0; i < contexts; ++i) coefficients.at(i, c) = normal(random);
  }
  const std::int64_t length = features + 3;  // wider than needed: what stands between must stay
  std::vector<double> out(static_cast<std::size_t>(columns * length), -7.0);
  context_products(context_matrix(rows.block), coefficients.data(), columns, out.data(), length);
  Worst worst;
  for (int c = 0; c < columns; ++c) {
    for (std::int64_t j = 0; j < length; ++j) {
      const double actual = out[static_cast<std::size_t>(c * length + j)];
      if (j >= features) {
        CHECK(actual == -7.0);
        continue;
      }
      long double sum = 0, size = 1e-300L;
      for (int i = 0; i < contexts; ++i) {
        sum += static_cast<long double>(coefficients.at(i, c)) * rows.at(i, j);
        size += std::abs(static_cast<long double>(coefficients.at(i, c)) * rows.at(i, j));
      }
      worst.add(c * length + j, relative_error(actual, sum, size));
    }
  }
  CAPTURE(worst.place);
  CHECK(worst.error <= tolerance(contexts));
}

template <class Check>
void every_shape(Check check) {
  every_isa([&] {
    for (const int columns : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 64}) {
      for (const std::int64_t features : {0, 1, 2, 3, 5, 8, 17, 40}) {
        CAPTURE(columns);
        CAPTURE(features);
        check(features, columns, columns > 12 ? 100 : 37, 4);
      }
    }
    for (const auto& [contexts, replays] : {std::pair{1, 1}, {kBlockRows, 1}, {kBlockRows / 4, 4}, {16, 128}, {5, 2}}) {
      CAPTURE(contexts);
      CAPTURE(replays);
      check(6, 3, contexts, replays);
    }
  });
}

}  // namespace

TEST_CASE("context_scores: equal the plain sum at every shape and both float types") {
  every_shape([](std::int64_t features, int outputs, int contexts, int replays) {
    check_scores<double>(features, outputs, contexts, replays);
    check_scores<float>(features, outputs, contexts, replays);
  });
}

TEST_CASE("context_products: equal the plain sum at every shape and both float types") {
  every_shape([](std::int64_t features, int columns, int contexts, int replays) {
    check_products<double>(features, columns, contexts, replays);
    check_products<float>(features, columns, contexts, replays);
  });
}

TEST_CASE("context_scores: the bits of a row's scores do not depend on the rows beside it") {
  std::mt19937_64 random(5);
  Contexts<double> rows(random, 21, kBlockRows, 1);
  Contexts<double> shifted(random, 21, 100, 1);
  for (std::int64_t j = 0; j < 21; ++j) {
    for (int i = 0; i < 100; ++i) shifted.values.at(i, j) = rows.values.at(i + 3, j);
  }
  std::vector<double> theta(7 * 22);
  for (double& t : theta) t = normal(random);
  every_isa([&] {
    Columns<double> a(7), b(7);
    context_scores(context_matrix(rows.block), theta.data(), 7, a.data());
    context_scores(valid_contexts(shifted.block), theta.data(), 7, b.data());
    int different = 0;
    for (int k = 0; k < 7; ++k) {
      for (int i = 0; i < 100; ++i) different += a.at(i + 3, k) != b.at(i, k);
    }
    CHECK(different == 0);
  });
}

TEST_CASE("has_context_matrix: columns that no whole vector fits into are left to others") {
  Block block;
  for (const int replays : {1, 2, 128}) {
    block.replays = replays;
    CHECK(has_context_matrix(block));
  }
  for (const int replays : {256, kBlockRows}) {
    block.replays = replays;
    CHECK_FALSE(has_context_matrix(block));
  }
}
