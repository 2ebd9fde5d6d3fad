// labels: fast io
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "array/element.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/dataset.hpp"

using namespace scrm;

namespace {

constexpr std::int64_t kRows = 5000;

template <class T>
MemoryTile tile(Element element, const T* data, std::size_t step = 1, std::int64_t columns = 1) {
  return {element, reinterpret_cast<const std::byte*>(data), step * sizeof(T), columns};
}

MemoryArray list(const std::string& name, const std::vector<double>& values) {
  return {name, static_cast<std::int64_t>(values.size()), 1, {tile(Element::f64, values.data())}};
}

/// Logged rows whose numbers say where they are from: context 100 i + j, action i, loss -i, propensity (1 + i) / n.
struct Columns {
  std::vector<double> context = std::vector<double>(3 * kRows);
  std::vector<double> action = std::vector<double>(kRows), loss = action, propensity = action;

  Columns() {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      for (std::size_t j = 0; j < 3; ++j) context[3 * row + j] = 100 * static_cast<double>(i) + static_cast<double>(j);
      action[row] = static_cast<double>(i);
      loss[row] = -static_cast<double>(i);
      propensity[row] = static_cast<double>(1 + i) / kRows;
    }
  }

  MemoryShard shard() const {
    MemoryShard shard;
    shard.arrays = {{"context", kRows, 2, {tile(Element::f64, context.data(), 3, 3)}},
                    list("action", action),
                    list("loss", loss),
                    list("propensity", propensity)};
    return shard;
  }
};

/// Every number of every block is where it belongs.
void check_rows(const MemoryShard& shard, double sign = 1) {
  Dataset data(std::vector<MemoryShard>{shard}, {});
  REQUIRE(data.rows() == kRows);
  BlockBuffer buffer(data.schema());
  Audit audit;
  const auto raw = data.fetch(0, kRows);
  for (std::int64_t first = 0; first < kRows; first += kBlockRows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kBlockRows, kRows - first));
    REQUIRE(raw->decode(first, rows, buffer, audit) == rows);
    for (int i = 0; i < rows; ++i) {
      const auto row = static_cast<double>(first + i);
      for (std::int64_t j = 0; j < 3; ++j)
        REQUIRE(buffer.context_f64()[j * kBlockRows + i] == 100 * row + static_cast<double>(j));
      REQUIRE(buffer.action()[i] == row);
      REQUIRE(buffer.loss()[i] == -sign * row);
      REQUIRE(buffer.propensity()[i] == (1 + row) / kRows);
    }
  }
  CHECK(audit.bad_rows() == 0);
}

std::string complaint(const MemoryShard& shard) {
  try {
    Dataset data(std::vector<MemoryShard>{shard}, {.cluster = true});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("arrays in memory: rows, columns and strides are read where they lie") {
  const Columns columns;
  check_rows(columns.shard());

  MemoryShard by_column = columns.shard();
  std::vector<double> transposed(3 * kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < 3; ++j) transposed[j * kRows + i] = columns.context[3 * i + j];
  }
  by_column.arrays[0].tiles = {tile(Element::f64, transposed.data()), tile(Element::f64, transposed.data() + kRows),
                               tile(Element::f64, transposed.data() + 2 * kRows)};
  check_rows(by_column);

  MemoryShard strided = columns.shard();
  std::vector<double> spread(7 * kRows);
  for (std::size_t i = 0; i < kRows; ++i) spread[7 * i] = columns.loss[i];
  strided.arrays[2].tiles = {tile(Element::f64, spread.data(), 7)};
  check_rows(strided);
}

TEST_CASE("arrays in memory: columns of one table may be of several types") {
  const Columns columns;
  MemoryShard mixed = columns.shard();
  std::vector<std::int32_t> first(kRows);
  std::vector<float> second(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    first[i] = static_cast<std::int32_t>(columns.context[3 * i]);
    second[i] = static_cast<float>(columns.context[3 * i + 1]);
  }
  mixed.arrays[0].tiles = {tile(Element::i32, first.data()), tile(Element::f32, second.data()),
                           tile(Element::f64, columns.context.data() + 2, 3)};
  check_rows(mixed);
}

TEST_CASE("arrays in memory: rewards become losses, and one number may stand for all rows") {
  const Columns columns;
  MemoryShard rewards = columns.shard();
  rewards.outcome = Outcome::reward;
  check_rows(rewards, -1);

  MemoryShard constant = columns.shard();
  const double half = 0.5;
  constant.arrays[3].tiles = {tile(Element::f64, &half, 0)};
  Dataset data(std::vector<MemoryShard>{constant}, {});
  BlockBuffer buffer(data.schema());
  Audit audit;
  CHECK(data.fetch(4000, 1000)->decode(4000, 1000, buffer, audit) == 1000);
  CHECK(buffer.propensity()[0] == 0.5);
  CHECK(buffer.propensity()[999] == 0.5);
  CHECK(buffer.action()[0] == 4000);
}

TEST_CASE("arrays in memory: a bad value is named by array and row, without a file") {
  Columns columns;
  columns.context[3 * 4711 + 1] = std::numeric_limits<double>::quiet_NaN();
  Dataset data(std::vector<MemoryShard>{columns.shard()}, {});
  BlockBuffer buffer(data.schema());
  buffer.allow_in_place();
  Audit audit;
  CHECK(data.fetch(4096, 904)->decode(4096, 904, buffer, audit) == 903);
  REQUIRE(audit.first);
  CHECK(audit.first->file.empty());
  CHECK(audit.first->dataset == "context[:, 1]");
  CHECK(audit.first->row == 4711);
}

TEST_CASE("arrays in memory: lists of whole blocks are handed out where they lie, all else is copied") {
  const Columns columns;
  std::vector<double> target = columns.propensity;
  MemoryShard shard = columns.shard();
  shard.arrays.push_back(list("target/new", target));
  Dataset data(std::vector<MemoryShard>{shard}, {.targets = {"new"}});
  BlockBuffer buffer(data.schema());
  Audit audit;
  const auto raw = data.fetch(0, kRows);
  // Only for those who ask for it.
  REQUIRE(raw->decode(2048, 2048, buffer, audit) == 2048);
  CHECK(buffer.view(2048, 2048).action == buffer.action());
  buffer.allow_in_place();
  REQUIRE(raw->decode(2048, 2048, buffer, audit) == 2048);
  Block block = buffer.view(2048, 2048);
  CHECK(block.context_by_row == reinterpret_cast<const std::byte*>(columns.context.data() + 3 * 2048));
  CHECK(block.action == columns.action.data() + 2048);
  CHECK(block.loss == columns.loss.data() + 2048);
  CHECK(block.propensity == columns.propensity.data() + 2048);
  CHECK(block.targets[0] == target.data() + 2048);
  // The last block is short, and kernels read whole ones.
  REQUIRE(raw->decode(4096, 904, buffer, audit) == 904);
  block = buffer.view(4096, 904);
  CHECK(block.context_by_row == nullptr);
  CHECK(block.action == buffer.action());
  CHECK(block.action[903] == 4999);
  CHECK(block.loss == buffer.loss());
  CHECK(block.propensity == buffer.propensity());
  CHECK(block.targets[0] == buffer.target(0));
  CHECK(block.targets[0][903] == 1);
}

TEST_CASE("arrays in memory: lists that are not doubles side by side are copied, rewards too") {
  const Columns columns;
  MemoryShard shard = columns.shard();
  std::vector<std::byte> odd(kRows * sizeof(double) + 1);
  std::memcpy(odd.data() + 1, columns.action.data(), kRows * sizeof(double));
  std::vector<double> spread(2 * kRows);
  for (std::size_t i = 0; i < kRows; ++i) spread[2 * i] = columns.propensity[i];
  shard.arrays[1].tiles = {tile(Element::f64, odd.data() + 1, sizeof(double))};
  shard.arrays[3].tiles = {tile(Element::f64, spread.data(), 2)};
  shard.outcome = Outcome::reward;
  Dataset data(std::vector<MemoryShard>{shard}, {});
  BlockBuffer buffer(data.schema());
  buffer.allow_in_place();
  Audit audit;
  REQUIRE(data.fetch(0, kRows)->decode(2048, 2048, buffer, audit) == 2048);
  const Block block = buffer.view(2048, 2048);
  CHECK(block.action == buffer.action());
  CHECK(block.action[7] == 2055);
  CHECK(block.loss == buffer.loss());
  CHECK(block.loss[7] == 2055);
  CHECK(block.propensity == buffer.propensity());
  CHECK(block.propensity[7] == 2056.0 / kRows);
}

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

struct BadNumber {
  int list;  // action, loss, propensity
  double value;
  BadRowReason reason;
};

const std::vector<BadNumber> kBadNumbers = {
    {0, kNan, BadRowReason::action_not_finite},     {0, -kInf, BadRowReason::action_not_finite},
    {1, kInf, BadRowReason::loss_not_finite},       {1, kNan, BadRowReason::loss_not_finite},
    {2, 0, BadRowReason::propensity_not_positive},  {2, -0.5, BadRowReason::propensity_not_positive},
    {2, kInf, BadRowReason::propensity_not_finite}, {2, kNan, BadRowReason::propensity_not_finite}};

}  // namespace

TEST_CASE("arrays in memory: bad values of lists in place are found, and their rows left out") {
  for (const auto& [which, value, reason] : kBadNumbers) {
    for (const std::size_t row : {2048, 3000, 4095}) {
      CAPTURE(which);
      CAPTURE(value);
      CAPTURE(row);
      Columns columns;
      (which == 0 ? columns.action : which == 1 ? columns.loss : columns.propensity)[row] = value;
      MemoryShard shard = columns.shard();
      // Of a table in columns nothing is left in place but the lists.
      const double* context = columns.context.data();
      shard.arrays[0].tiles = {tile(Element::f64, context, 3), tile(Element::f64, context + 1, 3),
                               tile(Element::f64, context + 2, 3)};
      Dataset data(std::vector<MemoryShard>{shard}, {});
      BlockBuffer buffer(data.schema());
      buffer.allow_in_place();
      Audit audit;
      REQUIRE(data.fetch(0, kRows)->decode(2048, 2048, buffer, audit) == 2047);
      CHECK(audit.counts[static_cast<std::size_t>(reason)] == 1);
      REQUIRE(audit.first);
      CHECK(audit.first->row == static_cast<std::int64_t>(row));
      const Block block = buffer.view(2048, 2047);
      REQUIRE(block.context != nullptr);
      int wrong = 0;
      for (int i = 0; i < 2047; ++i) {
        const double expected = 2048 + i + (2048 + i >= static_cast<int>(row) ? 1 : 0);
        wrong += block.action[i] != expected || block.loss[i] != -expected ||
                 block.propensity[i] != (1 + expected) / kRows ||
                 static_cast<const double*>(block.context)[i] != 100 * expected;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("arrays in memory: beside contexts in place lists are left to the reader, who can tell bad ones") {
  for (const auto& [which, value, reason] : kBadNumbers) {
    for (const std::size_t row : {2048, 3000, 4095}) {
      CAPTURE(which);
      CAPTURE(value);
      CAPTURE(row);
      Columns columns;
      Dataset data(std::vector<MemoryShard>{columns.shard()}, {});
      BlockBuffer buffer(data.schema());
      buffer.allow_in_place();
      Audit audit;
      const auto raw = data.fetch(0, kRows);
      REQUIRE(raw->decode(2048, 2048, buffer, audit) == 2048);
      CHECK(has_good_lists(buffer.view(2048, 2048)));
      (which == 0 ? columns.action : which == 1 ? columns.loss : columns.propensity)[row] = value;
      REQUIRE(raw->decode(2048, 2048, buffer, audit) == 2048);
      CHECK(buffer.view(2048, 2048).context_by_row != nullptr);
      CHECK_FALSE(has_good_lists(buffer.view(2048, 2048)));
      CHECK(audit.bad_rows() == 0);
    }
  }
}

TEST_CASE("arrays in memory: where one column has a bad value, lists in place are audited after all") {
  Columns columns;
  std::vector<std::int32_t> category(kRows, 1);
  category[2100] = 7;
  columns.propensity.assign(kRows, 0.5);
  columns.propensity[3000] = 2;
  columns.loss[2100] = columns.loss[4000] = kNan;
  MemoryShard shard = columns.shard();
  shard.action_kind = ActionKind::categorical;
  shard.num_actions = 3;
  shard.arrays[1] = {"action", kRows, 1, {tile(Element::i32, category.data())}};
  Dataset data(std::vector<MemoryShard>{shard}, {});
  BlockBuffer buffer(data.schema());
  buffer.allow_in_place();
  Audit audit;
  REQUIRE(data.fetch(0, kRows)->decode(2048, 2048, buffer, audit) == 2045);
  CHECK(audit.counts[static_cast<std::size_t>(BadRowReason::action_out_of_range)] == 1);
  CHECK(audit.counts[static_cast<std::size_t>(BadRowReason::probability_above_one)] == 1);
  CHECK(audit.counts[static_cast<std::size_t>(BadRowReason::loss_not_finite)] == 1);
  const Block block = buffer.view(2048, 2045);
  CHECK(block.context_by_row == nullptr);
  CHECK(std::all_of(block.propensity, block.propensity + 2045, [](double p) { return p == 0.5; }));
  CHECK(static_cast<const double*>(block.context)[2044] == 100 * 4095);
}

TEST_CASE("arrays in memory: those that do not fit each other are refused by name") {
  const Columns columns;
  const std::vector<double> fewer(kRows - 1, 0.5);
  MemoryShard shard = columns.shard();
  shard.arrays[3] = list("propensity", fewer);
  CHECK(complaint(shard) == "propensity: has 4999 rows, but loss has 5000");
  shard.arrays.pop_back();
  CHECK(complaint(shard) == "propensity: is missing, and so is log_propensity");
  shard = columns.shard();
  shard.arrays.push_back(list("log_propensity", columns.loss));
  CHECK(complaint(shard).starts_with("log_propensity: there is propensity too"));
  shard = columns.shard();
  shard.arrays.push_back(list("cluster", columns.loss));
  CHECK(complaint(shard) == "cluster: holds real numbers, clusters are integers");
  shard = columns.shard();
  shard.context_columns = {"a", "b"};
  CHECK(complaint(shard) == "context_columns: has 2 names for 3 features");
  shard = columns.shard();
  shard.action_kind = ActionKind::categorical;
  shard.num_actions = 3;
  CHECK(complaint(shard) == "action: holds real numbers, categorical actions are integers");
}

TEST_CASE("arrays in memory: several of them are one data set, split by rollout") {
  const Columns columns;
  MemoryShard second = columns.shard();
  second.rollout = 1;
  Dataset both(std::vector<MemoryShard>{columns.shard(), second}, {});
  CHECK(both.rows() == 2 * kRows);
  CHECK(both.rollouts() == std::vector<int>{0, 1});
  Dataset later = both.rollout(1);
  CHECK(later.rows() == kRows);
  BlockBuffer buffer(both.schema());
  Audit audit;
  CHECK(both.fetch(kRows - 5, 10)->decode(kRows - 5, 10, buffer, audit) == 10);
  CHECK(buffer.action()[4] == kRows - 1);
  CHECK(buffer.action()[5] == 0);
  CHECK(later.fetch(7, 1)->decode(7, 1, buffer, audit) == 1);
  CHECK(buffer.action()[0] == 7);
}

TEST_CASE("arrays in memory: sparse contexts") {
  const Columns columns;
  MemoryShard shard = columns.shard();
  std::vector<std::int32_t> indptr(kRows + 1), indices(kRows / 2);
  std::vector<float> values(kRows / 2);
  for (std::int32_t i = 0; i < kRows; ++i) {
    indptr[static_cast<std::size_t>(i) + 1] = (i + 1) / 2;  // every odd row has an entry
    if (i % 2 == 1) indices[static_cast<std::size_t>(i / 2)] = i % 10;
    if (i % 2 == 1) values[static_cast<std::size_t>(i / 2)] = static_cast<float>(i);
  }
  shard.sparse_features = 10;
  shard.arrays[0] = {"context/indptr", kRows + 1, 1, {tile(Element::i32, indptr.data())}};
  shard.arrays.push_back({"context/indices", kRows / 2, 1, {tile(Element::i32, indices.data())}});
  shard.arrays.push_back({"context/values", kRows / 2, 1, {tile(Element::f32, values.data())}});
  Dataset data(std::vector<MemoryShard>{shard}, {});
  CHECK(data.schema().features == 10);
  BlockBuffer buffer(data.schema());
  Audit audit;
  CHECK(data.fetch(2048, 2048)->decode(2048, 2048, buffer, audit) == 2048);
  CHECK(buffer.indptr()[2048] == 1024);
  CHECK(buffer.indices()[0] == 2049 % 10);
  CHECK(buffer.values()[1023] == 4095);
  shard.arrays.pop_back();
  CHECK(complaint(shard) == "context/values: is missing");
}
