// labels: slow threads
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "environments/row_cache.hpp"
#include "scrm/engine/pass/memory_source.hpp"
#include "scrm/experiments/simulated_source.hpp"
#include "support/rows/simulated_rows.hpp"

using namespace scrm;
using scrm_test::environment;

namespace {

constexpr const char* kNames[] = {"gaussian", "pricing", "advertising", "categorical", "multilabel"};

/// A logged row as one list of numbers, so that equal lists mean equal bits.
using Row = std::vector<double>;

void append_context(const Block& block, int i, Row& row) {
  if (block.sparse.indptr != nullptr) {
    for (std::int64_t e = block.sparse.indptr[i]; e < block.sparse.indptr[i + 1]; ++e) {
      row.push_back(block.sparse.indices[e]);
      row.push_back(block.sparse.values[e]);
    }
    return;
  }
  for (std::int64_t j = 0; j < block.features; ++j) {
    const std::int64_t at = j * kBlockRows + i;
    row.push_back(block.context_type == FloatType::f32
                      ? static_cast<double>(static_cast<const float*>(block.context)[at])
                      : static_cast<const double*>(block.context)[at]);
  }
}

std::vector<Row> rows_of(Source& source) {
  std::vector<Row> rows;
  const auto loader = source.make_loader();
  Audit audit;
  for (std::int64_t b = 0; b < source.blocks(); ++b) {
    const auto group = source.fetch(b, 1);
    const Block block = source.load(*group, b, *loader, audit);
    CHECK(block.first_row == b * kBlockRows);
    for (int i = 0; i < block.rows; ++i) {
      Row row;
      append_context(block, i, row);
      if (block.action != nullptr) row.push_back(block.action[i]);
      if (block.category != nullptr) row.push_back(block.category[i]);
      for (int k = 0; block.bits != nullptr && k < block.num_actions; ++k)
        row.push_back(block.bits[k * kBlockRows + i]);
      row.push_back(block.loss[i]);
      row.push_back(block.propensity != nullptr ? block.propensity[i] : block.log_propensity[i]);
      for (int k = 0; block.label_propensity != nullptr && k < block.num_actions; ++k) {
        row.push_back(block.label_propensity[k * kBlockRows + i]);
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

/// The environment's first policy, a little different for every number.
Policy policy_number(const Environment& env, const SimulateOptions& options, int number) {
  Policy policy = first_policy(env, options);
  for (std::size_t j = 0; j < policy.theta.size(); ++j) {
    policy.theta[j] += 0.2 * std::sin(number * (static_cast<double>(j) + 1));
  }
  policy.scale *= 1 + 0.1 * number;
  if (policy.kind == PolicyKind::softmax || policy.kind == PolicyKind::multilabel) policy.epsilon = 0.05 * number;
  return policy;
}

SimulateOptions options_for(std::int64_t first_row, std::int64_t rows) {
  SimulateOptions options;
  options.first_row = first_row;
  options.rows = rows;
  options.rollout_key.seed = 5;
  return options;
}

std::vector<Row> single(const std::shared_ptr<const Environment>& env, const Policy& policy,
                        const SimulateOptions& options) {
  SimulatedSource source(env, policy, "policy", options);
  return rows_of(source);
}

struct Shape {
  std::int64_t first_row;
  bool float32;
  std::int64_t sparse_features;
};

/// Rows [begin, begin + part.size()) of the whole are the part.
bool holds_at(const std::vector<Row>& whole, std::size_t begin, const std::vector<Row>& part) {
  return begin + part.size() <= whole.size() &&
         std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

TEST_CASE("segments: rows of policies that take turns are those that each logs alone") {
  // Turns within a block, at its edge, over several blocks, of one row and of none.
  const std::vector<std::int64_t> lengths = {100, 0, 1948, 1, 2047, 0, 5000, 3, 3, 700};
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) total += length;
  for (const char* name : kNames) {
    for (const Shape& shape : {Shape{0, false, 0}, Shape{777, true, 0}, Shape{777, false, 30}}) {
      CAPTURE(name);
      CAPTURE(shape.float32);
      CAPTURE(shape.sparse_features);
      const auto env = environment(name, 1);
      SimulateOptions options = options_for(shape.first_row, total);
      options.float32 = shape.float32;
      options.sparse_features = shape.sparse_features;
      options.density = 0.1;
      std::vector<PolicySegment> segments;
      for (std::size_t s = 0; s < lengths.size(); ++s) {
        segments.push_back({policy_number(*env, options, static_cast<int>(s)), lengths[s]});
      }
      SimulatedSource source(env, segments, "policies", options);
      REQUIRE(source.rows() == total);
      const std::vector<Row> together = rows_of(source);
      std::int64_t begin = 0;
      for (const PolicySegment& segment : segments) {
        SimulateOptions alone = options;
        alone.first_row = shape.first_row + begin;
        alone.rows = segment.rows;
        CAPTURE(begin);
        CHECK(holds_at(together, static_cast<std::size_t>(begin), single(env, segment.policy, alone)));
        begin += segment.rows;
      }
    }
  }
}

TEST_CASE("segments: a stream begun anywhere, cut anywhere, has the same rows to the bit") {
  for (const char* name : kNames) {
    CAPTURE(name);
    const auto env = environment(name, 1);
    const Policy policy = policy_number(*env, {}, 1);
    const std::vector<Row> whole = single(env, policy, options_for(0, 3 * kBlockRows + 100));
    for (const std::int64_t first : {1, 7, 100, 2047, 2048, 2049, 4000}) {
      for (const std::int64_t rows : {0, 1, 3, 2000, 2049}) {
        CAPTURE(first);
        CAPTURE(rows);
        const std::vector<Row> part = single(env, policy, options_for(first, rows));
        CHECK(static_cast<std::int64_t>(part.size()) == rows);
        CHECK(holds_at(whole, static_cast<std::size_t>(first), part));
      }
    }
  }
}

TEST_CASE("segments: any number of threads loads the same rows") {
  for (const char* name : kNames) {
    const auto env = environment(name, 1);
    const SimulateOptions options = options_for(55, 9000);
    const std::vector<PolicySegment> segments = {{policy_number(*env, options, 0), 1500},
                                                 {policy_number(*env, options, 1), 3000},
                                                 {policy_number(*env, options, 2), 4500}};
    SimulatedSource source(env, segments, "policies", options);
    const std::vector<Row> expected = rows_of(source);
    for (const int threads : {1, 2, 5}) {
      PassOptions pass;
      pass.threads = threads;
      MemorySource held(source, pass, false);
      CHECK(rows_of(held) == expected);
    }
  }
}

TEST_CASE("segments: one policy whose bits go together takes the probabilities of single bits from all") {
  const auto env = environment("multilabel", 1);
  Policy own = policy_number(*env, {}, 0), joint = policy_number(*env, {}, 2);
  joint.mixing = Mixing::joint;
  SimulatedSource apart(env, {{own, 10}, {own, 10}}, "policies", options_for(0, 20));
  CHECK(apart.schema().label_propensity);
  SimulatedSource mixed(env, {{own, 10}, {joint, 10}}, "policies", options_for(0, 20));
  CHECK_FALSE(mixed.schema().label_propensity);
  const std::vector<Row> rows = rows_of(mixed), first = single(env, own, options_for(0, 10));
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(std::equal(rows[i].begin(), rows[i].end(), first[i].begin()));
  }
}

TEST_CASE("row cache: draws what the environment draws, in whatever pieces it is asked") {
  for (const char* name : kNames) {
    const auto env = environment(name, 1);
    for (const std::int64_t cached : {0, 1, 5000}) {
      const auto cache = std::make_shared<const RowCache>(env, 5, cached);
      for (const std::int64_t first : {0, 1, 2048, 4100}) {
        for (const RolloutKey& rollout_key : {RolloutKey{5, 0}, RolloutKey{5, 1}, RolloutKey{6, 0}}) {
          CAPTURE(name);
          CAPTURE(cached);
          CAPTURE(first);
          CAPTURE(rollout_key.rollout);
          SimulateOptions options = options_for(first, 2500);
          options.rollout_key = rollout_key;
          const Policy policy = policy_number(*env, options, 1);
          const std::vector<Row> expected = single(env, policy, options);
          options.cache = cache;
          CHECK(single(env, policy, options) == expected);
          // The second time from the cache, and rounded to floats after the draw.
          options.float32 = true;
          const std::vector<Row> rounded = single(env, policy, options);
          options.cache = nullptr;
          CHECK(rounded == single(env, policy, options));
        }
      }
    }
  }
}

TEST_CASE("row cache: threads that ask first at the same time see the same draws") {
  for (const char* name : kNames) {
    const auto env = environment(name, 1);
    const Policy policy = policy_number(*env, {}, 1);
    SimulateOptions options = options_for(123, 40 * kBlockRows);
    SimulatedSource plain(env, policy, "policy", options);
    const std::vector<Row> expected = rows_of(plain);
    options.cache = std::make_shared<const RowCache>(env, 5, 20 * kBlockRows);
    SimulatedSource source(env, policy, "policy", options);
    PassOptions pass;
    pass.threads = 5;
    MemorySource held(source, pass, false);
    CHECK(rows_of(held) == expected);
  }
}
