// labels: fast io
#include "scrm/io/shard/shard_writer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/block_buffer.hpp"
#include "scrm/io/shard/dataset.hpp"
#include "support/files.hpp"

namespace {

namespace fs = std::filesystem;
using scrm::ActionKind;
using scrm::kBlockRows;
using scrm::PropensityForm;
using scrm::Schema;
using scrm::WriteOptions;
using namespace scrm::testing;

/// A number in (0, 1) that float32 holds exactly, different for neighbouring rows and columns.
double number(std::int64_t row, std::int64_t column) {
  const auto mixed = static_cast<std::uint64_t>(row * 2654435761LL + column * 40503LL + 12345);
  return (static_cast<double>(mixed % 65521U) + 1) / 65536.0;
}

/// Fills the buffer with `rows` rows as they stand from `first` on.
scrm::Block fill(scrm::BlockBuffer& buffer, std::int64_t first, int rows) {
  const Schema& schema = buffer.schema();
  buffer.indices().clear();
  buffer.values().clear();
  for (int i = 0; i < rows; ++i) {
    const std::int64_t row = first + i;
    for (std::int64_t j = 0; j < schema.features; ++j) {
      if (schema.sparse) {
        if ((row + j) % 3 != 0) continue;
        buffer.indices().push_back(static_cast<std::int32_t>(j));
        buffer.values().push_back(number(row, j));
      } else if (schema.context_type == scrm::FloatType::f32) {
        buffer.context_f32()[j * kBlockRows + i] = static_cast<float>(number(row, j));
      } else {
        buffer.context_f64()[j * kBlockRows + i] = number(row, j);
      }
    }
    if (schema.sparse) buffer.indptr()[i + 1] = static_cast<std::int64_t>(buffer.indices().size());
    if (schema.action_kind == ActionKind::continuous) buffer.action()[i] = number(row, -1) - 0.5;
    if (schema.action_kind == ActionKind::categorical)
      buffer.category()[i] = static_cast<int>(row % schema.num_actions);
    buffer.loss()[i] = -number(row, -2);
    if (schema.propensity == PropensityForm::linear) buffer.propensity()[i] = number(row, -3);
    if (schema.propensity == PropensityForm::logarithm) buffer.propensity()[i] = -number(row, -3);
    if (schema.action_kind == ActionKind::multilabel) {
      for (int k = 0; k < schema.num_actions; ++k) {
        buffer.bits()[k * kBlockRows + i] = static_cast<std::uint8_t>((row >> (k % 8)) & 1);
        if (schema.label_propensity) buffer.label_propensity()[k * kBlockRows + i] = number(row, 100 + k);
      }
    }
    for (std::size_t t = 0; t < schema.targets.size(); ++t)
      buffer.target(static_cast<int>(t))[i] = number(row, 200 + static_cast<std::int64_t>(t));
    if (schema.cluster) buffer.cluster()[i] = (row / 3) * 1'000'000'000'000'007 - 5;
  }
  return buffer.view(first, rows);
}

void write_blocks(const std::string& path, const Schema& schema, const WriteOptions& options, std::int64_t rows,
                  int block_rows) {
  scrm::ShardWriter writer(path, schema, options);
  scrm::BlockBuffer buffer(schema);
  for (std::int64_t row = 0; row < rows; row += block_rows)
    writer.append(fill(buffer, row, static_cast<int>(std::min<std::int64_t>(block_rows, rows - row))));
  CHECK(writer.rows() == rows);
  writer.commit();
}

template <class T>
bool same(const T* a, const T* b, std::int64_t columns, int rows) {
  for (std::int64_t j = 0; j < columns; ++j)
    if (!std::equal(a + j * kBlockRows, a + j * kBlockRows + rows, b + j * kBlockRows)) return false;
  return true;
}

bool same_context(const scrm::Block& a, const scrm::Block& b) {
  if (a.features == 0) return true;
  if (a.sparse.indptr != nullptr) {
    const auto entries = a.sparse.indptr[a.rows];
    return std::equal(a.sparse.indptr, a.sparse.indptr + a.rows + 1, b.sparse.indptr) &&
           std::equal(a.sparse.indices, a.sparse.indices + entries, b.sparse.indices) &&
           std::equal(a.sparse.values, a.sparse.values + entries, b.sparse.values);
  }
  if (a.context_type == scrm::FloatType::f32)
    return same(static_cast<const float*>(a.context), static_cast<const float*>(b.context), a.features, a.rows);
  return same(static_cast<const double*>(a.context), static_cast<const double*>(b.context), a.features, a.rows);
}

/// Reads the file back and compares every column with what fill() makes.
void check_content(const std::string& path, const Schema& schema, std::int64_t rows) {
  scrm::ReadOptions options;
  options.targets = schema.targets;
  options.cluster = true;
  scrm::Dataset dataset({path}, options);
  REQUIRE(dataset.rows() == rows);
  REQUIRE(dataset.schema().features == schema.features);
  REQUIRE(dataset.schema().sparse == schema.sparse);
  REQUIRE(dataset.schema().num_actions == schema.num_actions);
  REQUIRE(dataset.schema().label_propensity == schema.label_propensity);
  REQUIRE(dataset.schema().cluster == schema.cluster);
  scrm::BlockBuffer expected(schema);
  scrm::BlockBuffer found(dataset.schema());
  for (std::int64_t row = 0; row < rows; row += kBlockRows) {
    const int count = static_cast<int>(std::min<std::int64_t>(kBlockRows, rows - row));
    const scrm::Block a = fill(expected, row, count);
    scrm::Audit audit;
    REQUIRE(dataset.fetch(row, count)->decode(row, count, found, audit) == count);
    const scrm::Block b = found.view(row, count);
    CHECK(same_context(a, b));
    if (a.action != nullptr) CHECK(same(a.action, b.action, 1, count));
    if (a.category != nullptr) CHECK(same(a.category, b.category, 1, count));
    if (a.bits != nullptr) CHECK(same(a.bits, b.bits, a.num_actions, count));
    CHECK(same(a.loss, b.loss, 1, count));
    if (schema.propensity == PropensityForm::linear) CHECK(same(a.propensity, b.propensity, 1, count));
    if (schema.propensity == PropensityForm::logarithm) CHECK(same(a.log_propensity, b.log_propensity, 1, count));
    if (schema.label_propensity) CHECK(same(a.label_propensity, b.label_propensity, a.num_actions, count));
    for (int t = 0; t < a.num_targets; ++t) CHECK(same(a.targets[t], b.targets[t], 1, count));
    if (schema.cluster) CHECK(same(a.cluster, b.cluster, 1, count));
  }
}

Schema plain(std::int64_t features) {
  Schema schema;
  schema.features = features;
  return schema;
}

std::vector<Schema> many_schemas() {
  std::vector<Schema> schemas = {plain(3), plain(0), plain(1), plain(7), plain(5), plain(4), plain(2), plain(9)};
  schemas[1].targets = {"a", "b"};
  schemas[2].context_type = scrm::FloatType::f32;
  schemas[3].action_kind = ActionKind::categorical;
  schemas[3].num_actions = 5;
  schemas[3].propensity = PropensityForm::logarithm;
  schemas[4].action_kind = ActionKind::multilabel;
  schemas[4].num_actions = 64;
  schemas[4].label_propensity = true;
  schemas[5].action_kind = ActionKind::multilabel;
  schemas[5].num_actions = 1;
  schemas[5].label_propensity = true;
  schemas[5].propensity = PropensityForm::label_product;
  schemas[6].action_kind = ActionKind::multilabel;
  schemas[6].num_actions = 3;
  schemas[7].sparse = true;
  for (const std::size_t i : {1, 2, 5, 7}) schemas[i].cluster = true;
  return schemas;
}

}  // namespace

TEST_CASE("a shard: every kind of row reads back as it was written") {
  const Folder folder;
  const std::string path = folder / "a.h5";
  for (const Schema& schema : many_schemas()) {
    for (const bool gzip : {false, true}) {
      for (const std::int64_t rows : {0, 1, 7, 255, 256, 257, 5000}) {
        CAPTURE(schema.features);
        CAPTURE(gzip);
        CAPTURE(rows);
        WriteOptions options;
        options.gzip = gzip;
        options.chunk_rows = 256;
        write_blocks(path, schema, options, rows, 100);
        check_content(path, schema, rows);
      }
    }
  }
}

TEST_CASE("a shard: sparse entries reach over many chunks of their own") {
  const Folder folder;
  Schema schema = plain(300);
  schema.sparse = true;
  for (const bool gzip : {false, true}) {
    WriteOptions options;
    options.gzip = gzip;
    write_blocks(folder / "a.h5", schema, options, 6000, kBlockRows);
    check_content(folder / "a.h5", schema, 6000);
  }
}

TEST_CASE("a shard: wide rows get shorter chunks") {
  CHECK(scrm::chunk_rows(plain(10), {}) == 65536);
  CHECK(scrm::chunk_rows(plain(2000), {}) == 1024);
  CHECK(scrm::chunk_rows(plain(std::int64_t{1} << 40), {}) == 1);
  WriteOptions options;
  options.chunk_rows = 100;
  CHECK(scrm::chunk_rows(plain(2000), options) == 100);
  const Folder folder;
  write_blocks(folder / "a.h5", plain(2000), {}, 1500, kBlockRows);
  check_content(folder / "a.h5", plain(2000), 1500);
}

TEST_CASE("a shard: a few rows make a small file") {
  const Folder folder;
  write_blocks(folder / "a.h5", plain(10), {}, 10, kBlockRows);
  CHECK(fs::file_size(folder / "a.h5") < 32768);
}

TEST_CASE("a shard: scalars may be stored as float32") {
  const Folder folder;
  Schema schema = plain(3);
  schema.targets = {"t"};
  WriteOptions options;
  options.float32_scalars = true;
  write_blocks(folder / "a.h5", schema, options, 70000, kBlockRows);
  check_content(folder / "a.h5", schema, 70000);
  write_blocks(folder / "b.h5", schema, {}, 70000, kBlockRows);
  CHECK(fs::file_size(folder / "a.h5") < fs::file_size(folder / "b.h5") * 3 / 4);
}

TEST_CASE("a shard: neither the sizes of blocks nor the threads that encode change a byte") {
  const Folder folder;
  for (const Schema& schema : many_schemas()) {
    WriteOptions options;
    options.gzip = true;
    options.chunk_rows = 4 * kBlockRows;
    const std::int64_t rows = 9 * kBlockRows + 17;
    write_blocks(folder / "a.h5", schema, options, rows, kBlockRows);
    write_blocks(folder / "b.h5", schema, options, rows, 999);
    CHECK(bytes_of(folder / "a.h5") == bytes_of(folder / "b.h5"));

    std::vector<scrm::EncodedRowsPtr> chunks(3);
    std::vector<std::thread> threads;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      threads.emplace_back([&, c] {
        std::deque<scrm::BlockBuffer> buffers;
        std::vector<scrm::Block> blocks;
        const auto first = static_cast<std::int64_t>(c) * options.chunk_rows;
        const std::int64_t end = std::min(rows, first + options.chunk_rows);
        for (std::int64_t row = first; row < end; row += kBlockRows)
          blocks.push_back(
              fill(buffers.emplace_back(schema), row, static_cast<int>(std::min<std::int64_t>(kBlockRows, end - row))));
        chunks[c] = scrm::encode_rows(schema, options, blocks);
      });
    }
    for (std::thread& thread : threads) thread.join();
    scrm::ShardWriter writer(folder / "c.h5", schema, options);
    for (const auto& chunk : chunks) writer.append(*chunk);
    CHECK(writer.rows() == rows);
    writer.commit();
    CHECK(bytes_of(folder / "a.h5") == bytes_of(folder / "c.h5"));
  }
}

TEST_CASE("a shard: without commit nothing is left, and an old file stays") {
  const Folder folder;
  {
    scrm::ShardWriter writer(folder / "a.h5", plain(3), {});
    scrm::BlockBuffer buffer(plain(3));
    writer.append(fill(buffer, 0, 100));
  }
  CHECK(folder.entries() == 0);
  write_blocks(folder / "a.h5", plain(3), {}, 10, 10);
  { const scrm::ShardWriter writer(folder / "a.h5", plain(3), {}); }
  check_content(folder / "a.h5", plain(3), 10);
}

TEST_CASE("a shard: a disk that fills up at any moment ends in an error that names the file, and leaves nothing") {
  const Folder folder;
  Schema schema = plain(4);
  schema.targets = {"t"};
  WriteOptions options;
  options.chunk_rows = 1024;
  write_blocks(folder / "whole.h5", schema, options, 10000, kBlockRows);
  const auto size = static_cast<rlim_t>(fs::file_size(folder / "whole.h5"));
  fs::remove(folder / "whole.h5");
  for (rlim_t limit = 0; limit < size; limit += size / 40) {
    std::string message;
    {
      const SmallFiles small(limit);
      message = complaint([&] { write_blocks(folder / "a.h5", schema, options, 10000, kBlockRows); });
    }
    CAPTURE(limit);
    CHECK(message.rfind((folder / "a.h5") + ": ", 0) == 0);
    CHECK(holds(message, "nothing appeared under this name"));
    CHECK(holds(message, "File too large"));
    CHECK(folder.entries() == 0);
  }
  // HDF5 itself came through unharmed.
  write_blocks(folder / "a.h5", schema, options, 10000, kBlockRows);
  check_content(folder / "a.h5", schema, 10000);
}

TEST_CASE("a shard: rows that do not fit, and options that make no sense, are refused") {
  const Folder folder;
  scrm::BlockBuffer wide(plain(4));
  const auto append = [&](const Schema& schema, const scrm::Block& block) {
    return complaint([&] { scrm::ShardWriter(folder / "a.h5", schema, {}).append(block); });
  };
  CHECK(holds(append(plain(3), fill(wide, 0, 10)), "4 features instead of 3"));
  Schema targets = plain(4);
  targets.targets = {"t"};
  CHECK(holds(append(targets, fill(wide, 0, 10)), "there is no target/t"));
  Schema clustered = plain(4);
  clustered.cluster = true;
  CHECK(holds(append(clustered, fill(wide, 0, 10)), "there is no cluster"));
  Schema sparse = plain(4);
  sparse.sparse = true;
  CHECK(holds(append(sparse, fill(wide, 0, 10)), "dense context"));

  const auto open = [&](const Schema& schema) {
    return complaint([&] { scrm::ShardWriter(folder / "a.h5", schema, {}); });
  };
  Schema wrong = plain(1);
  wrong.action_kind = ActionKind::categorical;
  CHECK(holds(open(wrong), "num_actions"));
  wrong = plain(1);
  wrong.targets = {"a/b"};
  CHECK(holds(open(wrong), "cannot name a target"));
  wrong = plain(1);
  wrong.label_propensity = true;
  CHECK(holds(open(wrong), "label_propensity belongs to multilabel"));
  CHECK(folder.entries() == 0);
}

TEST_CASE("a shard: only the last chunk may be short") {
  const Folder folder;
  WriteOptions options;
  options.chunk_rows = 100;
  scrm::BlockBuffer buffer(plain(2));
  const auto half = scrm::encode_rows(plain(2), options, {fill(buffer, 0, 50)});
  scrm::ShardWriter writer(folder / "a.h5", plain(2), options);
  writer.append(*half);
  CHECK(holds(complaint([&] { writer.append(*half); }), "only the last chunk"));
  CHECK(holds(complaint([&] { scrm::encode_rows(plain(2), options, {fill(buffer, 0, 101)}); }), "more than a chunk"));
}
