// labels: slow threads io
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "support/files.hpp"
#include "support/reference/check_report.hpp"
#include "support/rows/random_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

void write_shard(const std::string& path, const LoggedRows& rows, std::int64_t first, std::int64_t count,
                 const WriteOptions& options) {
  ShardWriter writer(path, rows.schema, options);
  for (std::int64_t at = first; at < first + count; at += 777) {
    const int some = static_cast<int>(std::min<std::int64_t>(777, first + count - at));
    writer.append(make_buffer(rows, at, some)->view(at, some));
  }
  writer.commit();
}

Schema rich_schema(ActionKind kind, bool sparse, FloatType type, PropensityForm form) {
  Schema schema;
  schema.action_kind = kind;
  schema.num_actions = kind == ActionKind::continuous ? 0 : 3;
  schema.features = 5;
  schema.sparse = sparse;
  schema.context_type = type;
  schema.propensity = form;
  schema.label_propensity = kind == ActionKind::multilabel;
  schema.targets = {"one", "two"};
  return schema;
}

std::vector<NamedPolicy> policies_for(const Schema& schema) {
  const PolicyKind kind = schema.action_kind == ActionKind::continuous    ? PolicyKind::gaussian
                          : schema.action_kind == ActionKind::categorical ? PolicyKind::softmax
                                                                          : PolicyKind::multilabel;
  std::vector<NamedPolicy> out;
  for (std::uint64_t p = 0; p < 3; ++p) {
    out.push_back({"policy", make_target_policy(random_policy(kind, schema, p), schema, "policy")});
  }
  out.push_back({"one", make_target_column_policy(0)});
  out.push_back({"two", make_target_column_policy(1)});
  return out;
}

/// Every number of a report, so that reports can be compared to the bit.
std::vector<std::optional<double>> numbers(const EvaluationReport& report) {
  std::vector<std::optional<double>> out = {report.loss.mean, report.loss.square_sum};
  for (const PolicyReport& policy : report.policies) {
    for (const Estimate& e : policy.estimates) {
      out.insert(out.end(), {e.value, e.standard_error, e.low, e.high, e.parameter});
    }
    const Diagnostics& d = policy.diagnostics;
    out.insert(out.end(), {d.mean_weight, d.mean_weight_z, d.ess, d.max_weight, d.max_weight_share});
  }
  return out;
}

std::vector<std::optional<double>> evaluate_on(Source& source, IntervalKind interval, int threads) {
  EvaluateOptions options = with_normal_intervals();
  options.interval = interval;
  options.seed = 5;
  PassOptions pass;
  pass.threads = threads;
  return numbers(evaluate(source, policies_for(source.schema()), options, pass));
}

void check_contexts_by_row(PolicyKind kind, std::int64_t features, FloatType type, bool gzip) {
  const Folder folder;
  Schema schema;
  schema.action_kind = kind == PolicyKind::gaussian ? ActionKind::continuous : ActionKind::categorical;
  schema.num_actions = kind == PolicyKind::gaussian ? 0 : 40;
  schema.features = features;
  schema.context_type = type;
  schema.propensity = gzip ? PropensityForm::logarithm : PropensityForm::linear;
  LoggedRows rows = random_rows(schema, 9 * kBlockRows + 100, 4);
  WriteOptions options;
  options.gzip = gzip;
  write_shard(folder / "a.h5", rows, 0, 5 * kBlockRows, options);
  write_shard(folder / "b.h5", rows, 5 * kBlockRows, 4 * kBlockRows + 100, options);
  ShardSource shards(Dataset({folder.path.string()}, {}));
  MemorySource memory = make_source(rows);
  // Many policies have columns made for them.
  const auto evaluated = [&](Source& source, int threads, int copies) {
    const Policy policy = random_policy(kind, schema, 1);
    std::vector<NamedPolicy> named;
    for (int c = 0; c < copies; ++c) named.push_back({"policy", make_target_policy(policy, schema, "policy")});
    EvaluateOptions evaluation = with_normal_intervals();
    evaluation.skip_bad_rows = true;
    PassOptions pass;
    pass.threads = threads;
    return numbers(evaluate(source, named, evaluation, pass));
  };
  const auto expected = evaluated(memory, 1, 1);
  for (const int threads : {1, 2, 8}) CHECK(evaluated(shards, threads, 1) == expected);

  const auto check_bad = [&] {
    write_shard(folder / "a.h5", rows, 0, 5 * kBlockRows, options);
    ShardSource with_bad(Dataset({folder.path.string()}, {}));
    const auto by_row = evaluated(with_bad, 2, 1);
    auto by_column = evaluated(with_bad, 1, 5);
    by_column.resize(by_row.size());
    CHECK(by_row == by_column);
  };
  rows.loss[3 * kBlockRows + 5] = std::numeric_limits<double>::quiet_NaN();
  check_bad();
  // One that makes probabilities 0 or 1, and would not show in the sums.
  rows.context[static_cast<std::size_t>((kBlockRows + 77) * features)] = std::numeric_limits<double>::infinity();
  check_bad();
}

}  // namespace

TEST_CASE("evaluate: the same bits with 1, 2, 3 and 8 threads, bootstrap included") {
  const Schema schema = rich_schema(ActionKind::multilabel, false, FloatType::f32, PropensityForm::linear);
  MemorySource source = make_source(random_rows(schema, 70 * kBlockRows + 11, 3));
  for (const IntervalKind interval : {IntervalKind::normal, IntervalKind::bootstrap}) {
    const auto one = evaluate_on(source, interval, 1);
    for (const int threads : {2, 3, 8}) {
      CAPTURE(threads);
      CHECK(evaluate_on(source, interval, threads) == one);
    }
  }
}

TEST_CASE("evaluate: rows in memory and rows in shards of odd sizes give the same bits") {
  struct Case {
    Schema schema;
    bool gzip;
  };
  const std::vector<Case> cases = {
      {rich_schema(ActionKind::continuous, false, FloatType::f64, PropensityForm::linear), false},
      {rich_schema(ActionKind::continuous, true, FloatType::f64, PropensityForm::logarithm), true},
      {rich_schema(ActionKind::categorical, false, FloatType::f32, PropensityForm::linear), true},
      {rich_schema(ActionKind::multilabel, false, FloatType::f32, PropensityForm::logarithm), false},
      {rich_schema(ActionKind::multilabel, true, FloatType::f64, PropensityForm::linear), false}};
  for (std::size_t c = 0; c < cases.size(); ++c) {
    CAPTURE(c);
    const Folder folder;
    const LoggedRows rows = random_rows(cases[c].schema, 20011, c + 50);
    WriteOptions options;
    options.gzip = cases[c].gzip;
    options.chunk_rows = 501;
    std::int64_t first = 0;
    int shard = 0;
    for (const std::int64_t count : {1, 4999, 2048, 7, 12956}) {
      write_shard(folder / ("part-" + std::to_string(shard++) + ".h5"), rows, first, count, options);
      first += count;
    }
    REQUIRE(first == rows.rows);
    ReadOptions read;
    read.targets = {"one", "two"};
    ShardSource shards(Dataset({folder.path.string()}, read));
    MemorySource memory = make_source(rows);
    for (const IntervalKind interval : {IntervalKind::student, IntervalKind::bootstrap}) {
      const auto expected = evaluate_on(memory, interval, 1);
      for (const int threads : {1, 2, 8}) CHECK(evaluate_on(shards, interval, threads) == expected);
    }
  }
}

TEST_CASE("evaluate: contexts that stay row by row give the bits of rows in memory, bad rows among them or not") {
  for (const PolicyKind kind : {PolicyKind::gaussian, PolicyKind::softmax}) {
    for (const std::int64_t features : {1, 2, 7, 32, 33, 65}) {
      if (kind == PolicyKind::softmax && features % 2 == 0) continue;  // odd widths do all that even ones do
      for (const FloatType type : {FloatType::f64, FloatType::f32}) {
        for (const bool gzip : {false, true}) {
          CAPTURE(kind.name());
          CAPTURE(features);
          CAPTURE(gzip);
          check_contexts_by_row(kind, features, type, gzip);
        }
      }
    }
  }
}

TEST_CASE("evaluate: skipping bad rows equals never having had them, and says how many there were") {
  const Folder folder;
  const Schema schema = rich_schema(ActionKind::continuous, false, FloatType::f64, PropensityForm::linear);
  LoggedRows rows = random_rows(schema, 3000, 8);
  for (const std::size_t bad : {0, 17, 2047, 2048, 2999}) rows.propensity[bad] = -1;
  write_shard(folder / "a.h5", rows, 0, rows.rows, {});
  ReadOptions read;
  read.targets = {"one", "two"};
  ShardSource source(Dataset({folder.path.string()}, read));
  const Policy policy = random_policy(PolicyKind::gaussian, schema, 1);
  const std::vector<NamedPolicy> named = {{"policy", make_target_policy(policy, schema, "policy")}};
  CHECK_THROWS(evaluate(source, named, {}, {}));
  EvaluateOptions options = with_normal_intervals();
  options.skip_bad_rows = true;
  const EvaluationReport report = evaluate(source, named, options, {});
  CHECK(report.rows == 2995);
  CHECK(report.skipped_rows == 5);
  ExpectedPolicy expected;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    if (rows.propensity[static_cast<std::size_t>(i)] < 0) continue;
    expected.w.push_back(std::exp(log_density(policy, rows, i) - log_propensity(rows, i)));
    expected.y.push_back(rows.loss[static_cast<std::size_t>(i)]);
  }
  check_report(report.policies.front(), expected, options, 1e-12);
}

TEST_CASE("evaluate: a bootstrap is fixed by its seed, and another seed gives another interval") {
  const Schema schema = rich_schema(ActionKind::continuous, false, FloatType::f64, PropensityForm::linear);
  MemorySource source = make_source(random_rows(schema, 5000, 8));
  EvaluateOptions options = with_normal_intervals();
  options.interval = IntervalKind::bootstrap;
  const auto with_seed = [&](std::uint64_t seed) {
    options.seed = seed;
    return numbers(evaluate(source, policies_for(schema), options, {}));
  };
  CHECK(with_seed(1) == with_seed(1));
  CHECK(with_seed(1) != with_seed(2));
}

TEST_CASE(
    "evaluate: the bootstrap clips automatically as it clips to the same given weight, however large the top is") {
  Schema schema = rich_schema(ActionKind::continuous, false, FloatType::f64, PropensityForm::linear);
  schema.features = 0;
  struct Case {
    std::int64_t rows;  // 40,000 share groups, 500 do not
    double smallest;
    std::vector<std::size_t> top;
  };
  const std::vector<std::size_t> four = {10, 20, 30, 40};
  const std::vector<Case> cases = {
      {500, 1, four},
      {500, 1e-8, four},
      {500, 1e-60, four},
      {40'000, 1, four},
      {40'000, 1e-8, four},
      {40'000, 1e-60, four},
      {40'000, 1e-300, {7, 12'345, 39'999}},
      {40'000, 1e-60, {10, 11, 12, 13, 14, 15, 16, 17, 20'000, 20'001, 39'000}},
  };
  for (const auto& [count, smallest, tops] : cases) {
    LoggedRows rows = random_rows(schema, count, 4, 0.5);
    for (const std::size_t top : tops) rows.propensity[top] = smallest * (1 + static_cast<double>(top));
    MemorySource source = make_source(rows);
    EvaluateOptions options = with_normal_intervals();
    options.interval = IntervalKind::bootstrap;
    options.estimators = {"clipped"};
    const std::vector<NamedPolicy> named = {{"one", make_target_column_policy(0)}};
    const Estimate automatic = evaluate(source, named, options, {}).policies[0].estimates[0];
    options.clip = automatic.parameter;
    const Estimate given = evaluate(source, named, options, {}).policies[0].estimates[0];
    CAPTURE(count);
    CAPTURE(smallest);
    CAPTURE(tops.size());
    CHECK(relative_error(value_or_nan(automatic.value), value_or_nan(given.value)) <= 1e-12);
    CHECK(relative_error(value_or_nan(automatic.low), value_or_nan(given.low)) <= 1e-9);
    CHECK(relative_error(value_or_nan(automatic.high), value_or_nan(given.high)) <= 1e-9);
  }
}
