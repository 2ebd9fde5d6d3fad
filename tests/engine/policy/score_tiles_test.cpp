// labels: fast
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"
#include "support/rows/columns.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

struct Shape {
  int actions = 3;
  std::int64_t features = 5;
  std::int64_t rows = 70;
  FeatureMap map = FeatureMap::linear;
  FloatType type = FloatType::f64;
  bool sparse = false;
};

Schema schema_of(const Shape& shape, ActionKind kind) {
  Schema schema;
  schema.action_kind = kind;
  schema.num_actions = shape.actions;
  schema.features = shape.features;
  schema.context_type = shape.type;
  schema.sparse = shape.sparse;
  return schema;
}

/// Log-probabilities of a policy, block by block.
std::vector<double> log_densities(const Policy& policy, const LoggedRows& rows) {
  const auto target = make_target_policy(policy, rows.schema, "the policy");
  PolicyScratch scratch;
  Columns<double> column;
  std::vector<double> out;
  for (std::int64_t first = 0; first < rows.rows; first += kBlockRows) {
    const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, rows.rows - first));
    const auto buffer = make_buffer(rows, first, count);
    target->log_density(buffer->view(first, count), scratch, column.data());
    for (int i = 0; i < count; ++i) out.push_back(column[i]);
  }
  return out;
}

void check(const Shape& shape, PolicyKind kind, double epsilon, Mixing mixing) {
  const ActionKind actions = kind == PolicyKind::softmax ? ActionKind::categorical : ActionKind::multilabel;
  const LoggedRows rows = random_rows(schema_of(shape, actions), shape.rows, 7);
  const Policy policy = random_policy(kind, rows.schema, 8, shape.map, epsilon, mixing);
  const std::vector<double> found = log_densities(policy, rows);
  // A score rounds in units of the sum of its terms' sizes, some √features here; a sum over actions adds its own.
  const double tolerance = 1e-15 *
                           (20 + 4 * std::sqrt(static_cast<double>(mapped_features(shape.map, shape.features)))) *
                           (kind == PolicyKind::multilabel ? 1 + shape.actions / 20.0 : 1);
  Worst worst;
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    const long double expected = log_density(policy, rows, i);
    worst.add(i, relative_error(found[static_cast<std::size_t>(i)], expected, 1 + std::abs(expected)));
  }
  CAPTURE(kind.name());
  CAPTURE(shape.actions);
  CAPTURE(shape.features);
  CAPTURE(shape.rows);
  CAPTURE(epsilon);
  CAPTURE(worst.place);
  CHECK(worst.error <= tolerance);
}

void check_both(const Shape& shape) {
  for (const double epsilon : {0.0, 0.1}) {
    check(shape, PolicyKind::softmax, epsilon, Mixing::joint);
    if (shape.actions > 100) continue;
    check(shape, PolicyKind::multilabel, epsilon, Mixing::joint);
    check(shape, PolicyKind::multilabel, epsilon, Mixing::label);
  }
}

/// A softmax policy without features, whose scores are these, and the log-probability of each action.
std::vector<double> probabilities_of(const std::vector<double>& scores, double epsilon) {
  LoggedRows rows;
  Shape shape;
  shape.actions = static_cast<int>(scores.size());
  shape.features = 0;
  shape.rows = shape.actions;
  rows = random_rows(schema_of(shape, ActionKind::categorical), shape.rows, 3);
  for (int k = 0; k < shape.actions; ++k) rows.category[static_cast<std::size_t>(k)] = k;
  Policy policy = random_policy(PolicyKind::softmax, rows.schema, 1, FeatureMap::linear, epsilon);
  policy.theta = scores;
  return log_densities(policy, rows);
}

}  // namespace

TEST_CASE("score tiles: log-probabilities equal the formula at any number of actions") {
  for (const int actions : {1, 2, 3, 7, 31, 32, 33, 64, 65, 200}) check_both({.actions = actions});
  check_both({.actions = 4000, .rows = 40});
  check_both({.actions = 10000, .rows = 33});
}

TEST_CASE("score tiles: log-probabilities equal the formula at any number of features and rows") {
  for (const std::int64_t features : {0, 1, 16, 17, 2000}) {
    for (const int actions : {7, 40}) check_both({.actions = actions, .features = features});
  }
  for (const std::int64_t rows : {1, 31, 32, 33, 63, 64, 65, 2047, 2048, 2049}) check_both({.rows = rows});
}

TEST_CASE("score tiles: float32, quadratic and sparse contexts equal the formula") {
  for (const int actions : {1, 7, 40}) {
    check_both({.actions = actions, .type = FloatType::f32});
    check_both({.actions = actions, .features = 9, .map = FeatureMap::quadratic});
    check_both({.actions = actions, .features = 9, .map = FeatureMap::quadratic, .type = FloatType::f32});
    check_both({.actions = actions, .features = 40, .rows = 2100, .sparse = true});
    check_both({.actions = actions, .features = 9, .map = FeatureMap::quadratic, .sparse = true});
  }
}

TEST_CASE("score tiles: a row's bits depend neither on its place nor on the rows beside it") {
  for (const Shape& shape : {Shape{.actions = 70}, Shape{.actions = 5, .features = 40, .sparse = true},
                             Shape{.actions = 33, .features = 9, .map = FeatureMap::quadratic}}) {
    Shape longer = shape;
    longer.rows = 300;
    for (const PolicyKind kind : {PolicyKind::softmax, PolicyKind::multilabel}) {
      const ActionKind actions = kind == PolicyKind::softmax ? ActionKind::categorical : ActionKind::multilabel;
      const LoggedRows rows = random_rows(schema_of(longer, actions), longer.rows, 9);
      const Policy policy = random_policy(kind, rows.schema, 8, shape.map, 0.05);
      const std::vector<double> all = log_densities(policy, rows);
      const auto target = make_target_policy(policy, rows.schema, "the policy");
      int different = 0;
      for (const int start : {1, 37, 64, 299}) {
        PolicyScratch scratch;
        Columns<double> column;
        const int count = static_cast<int>(longer.rows) - start;
        const auto buffer = make_buffer(rows, start, count);
        target->log_density(buffer->view(start, count), scratch, column.data());
        for (int i = 0; i < count; ++i) different += column[i] != all[static_cast<std::size_t>(start + i)];
      }
      CHECK(different == 0);
    }
  }
}

TEST_CASE("score tiles: scores of any size keep the digits of their differences") {
  constexpr double kHuge = 1e308;
  for (const int actions : {2, 40, 1000}) {
    CAPTURE(actions);
    const auto count = static_cast<std::size_t>(actions);
    for (const double level : {-kHuge, -700.0, 0.0, 800.0, kHuge}) {
      for (const double log_probability : probabilities_of(std::vector<double>(count, level), 0)) {
        CHECK(log_probability == doctest::Approx(-std::log(actions)).epsilon(1e-14));
      }
    }
    std::vector<double> one_high(count, -kHuge);
    one_high.back() = kHuge;
    const std::vector<double> found = probabilities_of(one_high, 0);
    CHECK(found.back() == 0);
    CHECK(found.front() == -std::numeric_limits<double>::infinity());
    // With mixing, what has no support of its own has the uniform share.
    CHECK(probabilities_of(one_high, 0.1).front() == doctest::Approx(std::log(0.1 / actions)).epsilon(1e-14));
    // The largest score comes last, after many that vanish beside it.
    std::vector<double> rising(count);
    for (std::size_t k = 0; k < count; ++k) rising[k] = 100.0 * static_cast<double>(k);
    const std::vector<double> steps = probabilities_of(rising, 0);
    CHECK(steps.back() == doctest::Approx(0).epsilon(1e-14));
    CHECK(steps.front() == doctest::Approx(-rising.back()).epsilon(1e-14));
  }
}

TEST_CASE("score tiles: columns of scores are those of full blocks, and numbers to their end") {
  constexpr int kActions = 7;
  for (const std::int64_t features : {3, 300}) {
    for (const int count : {1, 63, 64, 65, 1100, 2047, 2048}) {
      const Shape shape{.actions = kActions, .features = features, .rows = kBlockRows};
      const LoggedRows rows = random_rows(schema_of(shape, ActionKind::multilabel), shape.rows, 5);
      const auto target = make_target_policy(random_policy(PolicyKind::multilabel, rows.schema, 6), rows.schema, "it");
      const auto buffer = make_buffer(rows, 0, kBlockRows);
      PolicyScratch scratch;
      // Memory that was used before.
      Columns<double> all(kActions), some(kActions, std::numeric_limits<double>::quiet_NaN());
      target->scores(buffer->view(0, kBlockRows), scratch, all.data());
      target->scores(buffer->view(0, count), scratch, some.data());
      int different = 0, no_numbers = 0;
      for (int k = 0; k < kActions; ++k) {
        const double *expected = all.data() + k * kBlockRows, *found = some.data() + k * kBlockRows;
        for (int i = 0; i < count; ++i) different += found[i] != expected[i];
        for (int i = count; i < kBlockRows; ++i) no_numbers += !std::isfinite(found[i]);
      }
      CAPTURE(features);
      CAPTURE(count);
      CHECK(different == 0);
      CHECK(no_numbers == 0);
    }
  }
}

TEST_CASE("score tiles: ten thousand actions need no columns of scores") {
  const Schema schema = schema_of({.actions = 10000, .features = 10}, ActionKind::categorical);
  const auto target = make_target_policy(random_policy(PolicyKind::softmax, schema, 1), schema, "the policy");
  CHECK(target->scratch_bytes() < 1 << 20);
}
