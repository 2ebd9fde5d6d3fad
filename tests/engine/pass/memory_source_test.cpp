// labels: fast threads
#include "scrm/engine/pass/memory_source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "support/rows/replayed_rows.hpp"

using namespace scrm;
using namespace scrm::testing;

namespace {

struct Case {
  std::string name;
  Schema schema;
};

Schema schema_of(ActionKind kind, int actions, std::int64_t features, bool sparse, FloatType type, int replays = 1) {
  Schema schema;
  schema.action_kind = kind;
  schema.num_actions = actions;
  schema.features = features;
  schema.sparse = sparse;
  schema.context_type = type;
  schema.replays = replays;
  return schema;
}

std::vector<Case> cases() {
  using enum ActionKind;
  using enum FloatType;
  std::vector<Case> out = {
      {"continuous, doubles", schema_of(continuous, 0, 3, false, f64)},
      {"continuous, floats", schema_of(continuous, 0, 5, false, f32)},
      {"continuous, no context", schema_of(continuous, 0, 0, false, f64)},
      {"categorical, sparse", schema_of(categorical, 4, 6, true, f64)},
      {"multilabel, doubles", schema_of(multilabel, 3, 2, false, f64)},
      {"multilabel, one label, sparse", schema_of(multilabel, 1, 1, true, f64)},
      {"multilabel, shared doubles", schema_of(multilabel, 3, 4, false, f64, 4)},
      {"multilabel, shared floats", schema_of(multilabel, 2, 3, false, f32, 2)},
      {"multilabel, shared sparse", schema_of(multilabel, 2, 5, true, f64, 4)},
      {"multilabel, one context a block", schema_of(multilabel, 2, 5, true, f64, kBlockRows)},
  };
  out[1].schema.targets = {"a", "b"};
  out[3].schema.targets = {"only"};
  for (std::size_t i : {4, 6, 8}) out[i].schema.label_propensity = true;
  for (std::size_t i : {1, 3, 6, 8}) out[i].schema.cluster = true;
  out[6].schema.propensity = PropensityForm::logarithm;
  out[8].schema.propensity = PropensityForm::label_product;
  return out;
}

template <class T>
bool same(const T* a, const T* b, std::int64_t columns, std::int64_t stride, std::int64_t rows) {
  if ((a == nullptr) != (b == nullptr)) return false;
  for (std::int64_t j = 0; a != nullptr && j < columns; ++j) {
    if (std::memcmp(a + j * stride, b + j * stride, static_cast<std::size_t>(rows) * sizeof(T)) != 0) return false;
  }
  return true;
}

bool same_context(const Block& a, const Block& b) {
  const std::int64_t rows = context_rows(a), stride = context_stride(a.replays);
  if (a.sparse.indptr == nullptr) {
    return a.context_type == FloatType::f32 ? same(static_cast<const float*>(a.context),
                                                   static_cast<const float*>(b.context), a.features, stride, rows)
                                            : same(static_cast<const double*>(a.context),
                                                   static_cast<const double*>(b.context), a.features, stride, rows);
  }
  const std::int64_t entries = a.sparse.indptr[rows];
  return same(a.sparse.indptr, b.sparse.indptr, 1, 0, rows + 1) &&
         (entries == 0 || (same(a.sparse.indices, b.sparse.indices, 1, 0, entries) &&
                           same(a.sparse.values, b.sparse.values, 1, 0, entries)));
}

/// Every column of both blocks, to the bit.
bool same_block(const Block& a, const Block& b) {
  if (a.rows != b.rows || a.first_row != b.first_row || a.replays != b.replays || a.features != b.features)
    return false;
  bool equal = same_context(a, b) && same(a.action, b.action, 1, 0, a.rows) &&
               same(a.category, b.category, 1, 0, a.rows) && same(a.bits, b.bits, a.num_actions, kBlockRows, a.rows) &&
               same(a.loss, b.loss, 1, 0, a.rows) && same(a.propensity, b.propensity, 1, 0, a.rows) &&
               same(a.log_propensity, b.log_propensity, 1, 0, a.rows) &&
               same(a.label_propensity, b.label_propensity, a.num_actions, kBlockRows, a.rows) &&
               same(a.cluster, b.cluster, 1, 0, a.rows);
  for (int t = 0; t < a.num_targets; ++t) equal = equal && same(a.targets[t], b.targets[t], 1, 0, a.rows);
  return equal && a.num_targets == b.num_targets;
}

bool same_rows(MemorySource& a, MemorySource& b) {
  if (a.rows() != b.rows()) return false;
  const auto loader = a.make_loader();
  Audit audit;
  for (std::int64_t i = 0; i < a.blocks(); ++i) {
    const auto group = a.fetch(i, 1);
    if (!same_block(a.load(*group, i, *loader, audit), b.load(*group, i, *loader, audit))) return false;
  }
  return true;
}

LoggedRows rows_of(const Schema& schema, std::int64_t count, std::uint64_t seed) {
  Schema apart = schema;
  apart.replays = 1;
  return replayed_rows(apart, count, schema.replays, seed);
}

}  // namespace

TEST_CASE("memory_source: many small batches make the source that is built at once") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const int replays = one.schema.replays;
    const std::vector<std::int64_t> sizes = {1, 0, 7, 2039 / replays, 3, 2048, 1, 700, 5000 / replays, 0, 13};
    std::int64_t total = 0;
    for (const std::int64_t size : sizes) total += size;
    // One context a block and thousands of them say nothing more than a few.
    const std::int64_t contexts = replays == kBlockRows ? 5 : total;
    const LoggedRows rows = rows_of(one.schema, contexts * replays, 7);
    MemorySource whole = shared_source(rows, replays);
    for (const int threads : {1, 4}) {
      PassOptions pass;
      pass.threads = threads;
      MemorySource grown(one.schema);
      std::int64_t begin = 0;
      for (const std::int64_t size : sizes) {
        const std::int64_t end = std::min(begin + size * replays, rows.rows);
        MemorySource part = shared_source(rows, replays, begin, end);
        grown.extend(part, pass);
        CHECK(grown.rows() == end);
        begin = end;
      }
      CHECK(same_rows(grown, whole));
    }
  }
}

TEST_CASE("memory_source: a source copied whole, or grown on top of a copy, is the same") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const int replays = one.schema.replays;
    const std::int64_t half = 3 * kBlockRows + (replays == kBlockRows ? 0 : 5 * replays);
    const LoggedRows rows = rows_of(one.schema, 2 * half, 9);
    MemorySource whole = shared_source(rows, replays), first = shared_source(rows, replays, 0, half),
                 second = shared_source(rows, replays, half, 2 * half);
    MemorySource copied(whole, {}, false);
    CHECK(same_rows(copied, whole));
    MemorySource grown(first, {}, false);
    grown.extend(second, {});
    CHECK(same_rows(grown, whole));
  }
}

TEST_CASE("memory_source: blocks after a short one, and rows that are missing, are refused") {
  const LoggedRows rows = random_rows(schema_of(ActionKind::continuous, 0, 1, false, FloatType::f64), 100, 1);
  MemorySource source = make_source(rows);
  CHECK_THROWS_WITH_AS(source.append(make_buffer(rows, 0, 10), 10),
                       doctest::Contains("only the last block of a source may be short"), Error);

  // A source that lost rows to the audit has gaps: growing it, or growing by it, would count rows that are not there.
  struct Gappy final : Source {
    explicit Gappy(MemorySource& below) : below_(below) {}
    const Schema& schema() const override { return below_.schema(); }
    std::int64_t rows() const override { return below_.rows(); }
    int group_blocks() const override { return 1; }
    std::size_t group_bytes() const override { return 0; }
    std::size_t loader_bytes() const override { return 0; }
    std::unique_ptr<BlockLoader> make_loader() const override { return below_.make_loader(); }
    std::unique_ptr<BlockGroup> fetch(std::int64_t first, int count) override { return below_.fetch(first, count); }
    Block load(BlockGroup& group, std::int64_t index, BlockLoader& loader, Audit& audit) const override {
      Block block = below_.load(group, index, loader, audit);
      --block.rows;
      return block;
    }
    MemorySource& below_;
  };
  Gappy gappy(source);
  MemorySource grown(rows.schema);
  CHECK_THROWS_WITH_AS(grown.extend(gappy, {}), doctest::Contains("99 of 100 rows"), Error);
  MemorySource held(gappy, {}, true);
  CHECK_THROWS_WITH_AS(held.extend(source, {}), doctest::Contains("99 of 100 rows"), Error);
}

TEST_CASE("copy_rows: any stretch of a block to any place of another") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const int replays = one.schema.replays;
    const int unit = std::max(1, kBlockRows / replays / 16) * replays;  // a sixteenth of a block, or one context
    const LoggedRows rows = rows_of(one.schema, kBlockRows, 21);
    MemorySource source = shared_source(rows, replays);
    const auto loader = source.make_loader();
    const auto group = source.fetch(0, 1);
    Audit audit;
    const Block from = source.load(*group, 0, *loader, audit);

    // Put together from pieces, one of them empty, after other rows were there.
    BlockBuffer pieces(one.schema);
    pieces.copy_rows(from, 0, kBlockRows, 0);
    const int cut = replays == kBlockRows ? 0 : unit;
    pieces.copy_rows(from, 0, cut, 0);
    pieces.copy_rows(from, cut, 0, cut);
    pieces.copy_rows(from, cut, kBlockRows - cut, cut);
    CHECK(same_block(pieces.view(0, kBlockRows), from));

    // The end of the block moved to the front is what a source of those rows holds.
    BlockBuffer tail(one.schema);
    tail.copy_rows(from, kBlockRows - unit, unit, 0);
    MemorySource expected = shared_source(rows, replays, kBlockRows - unit, kBlockRows);
    CHECK(same_block(tail.view(0, unit), expected.load(*group, 0, *loader, audit)));
    CHECK_FALSE(tail.bytes() < block_buffer_bytes(one.schema));
  }
}
