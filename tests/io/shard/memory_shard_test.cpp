// labels: fast io
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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
  buffer.allow_context_by_row();
  Audit audit;
  CHECK(data.fetch(4096, 904)->decode(4096, 904, buffer, audit) == 903);
  REQUIRE(audit.first);
  CHECK(audit.first->file.empty());
  CHECK(audit.first->dataset == "context[:, 1]");
  CHECK(audit.first->row == 4711);
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
