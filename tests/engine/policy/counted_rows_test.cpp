// labels: fast
#include "policy/counted_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "support/rows/columns.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

struct Case {
  int actions;
  std::int64_t features;
  int rows;
  FloatType type = FloatType::f64;
  bool by_row = false;
  double epsilon = 0;
};

/// Σ_i f_i ∂ log π(a_i|x_i) / ∂θ, number by number, and Σ of the sizes of its terms.
struct Reference {
  std::vector<long double> sums, sizes;

  Reference(const Policy& policy, const LoggedRows& rows, const double* factor)
      : sums(policy.theta.size()), sizes(policy.theta.size()) {
    const std::int64_t width = 1 + rows.schema.features;
    const auto actions = static_cast<std::size_t>(policy.outputs);
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      if (factor[i] == 0) continue;
      const auto x = [&](std::int64_t j) {
        return j == 0 ? 1.0L : static_cast<long double>(LoggedRows::cell(rows.context, i, j - 1, width - 1));
      };
      std::vector<long double> p(actions);
      long double total = 0;
      for (std::size_t k = 0; k < actions; ++k) {
        long double score = 0;
        for (std::int64_t j = 0; j < width; ++j)
          score += x(j) * static_cast<long double>(
                              policy.theta[k * static_cast<std::size_t>(width) + static_cast<std::size_t>(j)]);
        total += p[k] = std::exp(score);
      }
      const auto logged = static_cast<std::size_t>(rows.category[static_cast<std::size_t>(i)]);
      const long double own = (1 - policy.epsilon) * p[logged] / total;
      const long double share = own / (own + policy.epsilon / static_cast<long double>(actions));
      for (std::size_t k = 0; k < actions; ++k) {
        const long double slope = share * ((k == logged ? 1 : 0) - p[k] / total) * factor[i];
        for (std::int64_t j = 0; j < width; ++j) {
          const std::size_t at = k * static_cast<std::size_t>(width) + static_cast<std::size_t>(j);
          sums[at] += slope * x(j);
          sizes[at] += std::abs(slope * x(j));
        }
      }
    }
  }
};

/// Rows as a file holds them, one after the other.
std::vector<std::byte> row_by_row(const LoggedRows& rows) {
  const bool single = rows.schema.context_type == FloatType::f32;
  std::vector<std::byte> out(kBlockRows * static_cast<std::size_t>(rows.schema.features) * sizeof(double));
  std::byte* to = out.data();
  for (const double x : rows.context) {
    const auto rounded = static_cast<float>(x);
    std::memcpy(to, single ? static_cast<const void*>(&rounded) : &x, single ? sizeof(rounded) : sizeof(x));
    to += single ? sizeof(rounded) : sizeof(x);
  }
  return out;
}

/// With the factors that `counts` picks, the gradients of tiled_gradient agree with the reference; whether its rows
/// were taken together.
template <class Counts>
bool check(const Case& c, Counts counts) {
  Schema schema = schema_for(PolicyKind::softmax, c.features, false, c.type);
  schema.num_actions = c.actions;
  const LoggedRows rows = random_rows(schema, c.rows, 11);
  const Policy policy = random_policy(PolicyKind::softmax, schema, 12, FeatureMap::linear, c.epsilon);
  const auto buffer = make_buffer(rows, 0, c.rows);
  Block block = buffer->view(0, c.rows);
  const std::vector<std::byte> contexts = row_by_row(rows);
  if (c.by_row) {
    block.context_by_row = contexts.data();
    block.context = nullptr;
  }
  const ScoreMatrix matrix(policy, schema);
  TileStates states;
  Columns<double> weights, first, second;
  tiled_weights(matrix, block, states, weights.data());
  std::mt19937_64 random(13);
  for (int i = 0; i < c.rows; ++i) {
    if (!counts(i)) continue;
    // Either factor may be 0 where the row counts.
    first[i] = i % 3 == 1 ? 0 : normal(random);
    second[i] = i % 3 == 0 ? 0 : normal(random);
  }
  std::vector<double> one(policy.theta.size(), 1e300), other(policy.theta.size(), 1e300);
  const std::vector<TiledFactor> factors = {{first.data(), one.data()}, {second.data(), other.data()}};
  PolicyScratch scratch;
  tiled_gradient(matrix, block, states, factors, scratch);
  const Reference expected_one(policy, rows, first.data()), expected_other(policy, rows, second.data());
  Worst worst;
  for (std::size_t j = 0; j < one.size(); ++j) {
    // Relative to the sum of the terms' sizes, which rounding goes by.
    worst.add(static_cast<std::int64_t>(j),
              static_cast<double>(std::abs(one[j] - expected_one.sums[j]) / (expected_one.sizes[j] + 1e-30L)));
    worst.add(static_cast<std::int64_t>(j),
              static_cast<double>(std::abs(other[j] - expected_other.sums[j]) / (expected_other.sizes[j] + 1e-30L)));
  }
  CAPTURE(c.actions);
  CAPTURE(c.features);
  CAPTURE(c.rows);
  CAPTURE(c.by_row);
  CAPTURE(worst.place);
  CHECK(worst.error <= 1e-13);
  Columns<double> memory(ScoreTile::kStateColumns + kMostTiledFactors + 1);
  return CountedRows(block, matrix.has_context_tiles(), states, factors, memory.data()).are_together();
}

}  // namespace

TEST_CASE("counted rows: gradients equal the formula, however few rows count") {
  for (const Case& c : {Case{35, 3, 700}, Case{130, 30, 2048, FloatType::f32}, Case{40, 7, 1}, Case{33, 5, 65},
                        Case{130, 12, 300, FloatType::f64, true, 0.1}, Case{64, 9, 999, FloatType::f32, true}}) {
    for (const int every : {1, 2, 7, 40}) check(c, [every](int i) { return i % every == every - 1; });
    check(c, [](int) { return false; });
    check(c, [](int i) { return i == 0; });
    check(c, [&](int i) { return i == c.rows - 1; });
    check(c, [](int i) { return i > 100 && i < 170; });
  }
}

TEST_CASE(
    "counted rows: they are taken together where that saves a quarter of the tiles, and else stay where they are") {
  const Case c{33, 2, 1024};  // sixteen tiles
  CHECK(check(c, [](int i) { return i < 12 * 64; }));
  CHECK_FALSE(check(c, [](int i) { return i <= 12 * 64; }));
  // Features that are not gathered are not taken from here and there.
  CHECK_FALSE(check({33, kTileFeatures + 1, 256}, [](int i) { return i == 5; }));
}
