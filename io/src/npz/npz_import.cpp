#include "scrm/io/import/npz_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "import/row_builder.hpp"
#include "import/shard_sequence.hpp"
#include "npz/npy_array.hpp"
#include "npz/zip_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {
namespace {

constexpr double kMaxActions = 1e6;
constexpr std::int64_t kMaxFeatures = std::int64_t{1} << 20;

/// The arrays of the rows, in the order of a RowBuilder's values.
struct Columns {
  Schema schema;
  std::int64_t rows = 0;
  std::vector<NpyArray> arrays;
  std::optional<NpyArray> cluster;
};

int count_actions(const NpzImport& import, const ZipArchive& archive) {
  double largest = 0;
  if (archive.find("n_actions.npy") != nullptr) {
    NpyArray count(archive, "n_actions", import.out);
    if (count.rows() == 1 && count.width() == 1) count.read(&largest, 1);
  } else {
    NpyArray actions(archive, import.action, import.out);
    for (std::int64_t left = actions.rows() * actions.width(); left > 0; --left) {
      double action = 0;
      actions.read(&action, 1);
      largest = std::max(largest, std::floor(action) + 1);
    }
  }
  if (!(largest >= 1 && largest < kMaxActions))
    throw Error(ErrorKind::data, fmt::format("has {} actions; give --num-actions to say how many there are", largest),
                {.file = import.file});
  return static_cast<int>(largest);
}

void check_array(const Columns& columns, const NpzImport& import, const NpyArray& array, bool matrix) {
  const std::string& name = array.name();
  const std::size_t axes = array.shape().size();
  if (axes != 1 && !(matrix && axes == 2))
    throw Error(ErrorKind::data, fmt::format("has {} axes where {} needed", axes, matrix ? "one or two are" : "one is"),
                {.file = import.file, .dataset = name});
  if (array.width() > kMaxFeatures)
    throw Error(ErrorKind::data, fmt::format("has rows of {} numbers, which are too many", array.width()),
                {.file = import.file, .dataset = name});
  if (array.rows() != columns.rows)
    throw Error(
        ErrorKind::data,
        fmt::format("has {}, {} has {}", count_of(array.rows(), "row"), columns.arrays.front().name(), columns.rows),
        {.file = import.file, .dataset = name});
}

void add_array(Columns& columns, const NpzImport& import, const ZipArchive& archive, const std::string& name,
               bool matrix) {
  columns.arrays.emplace_back(archive, name, import.out);
  if (columns.arrays.size() == 1) columns.rows = columns.arrays.back().rows();
  check_array(columns, import, columns.arrays.back(), matrix);
}

void add_cluster(Columns& columns, const NpzImport& import, const ZipArchive& archive) {
  const std::string name = import.cluster.empty() ? "cluster" : import.cluster;
  if (import.cluster.empty() && archive.find(name + ".npy") == nullptr) return;
  columns.cluster.emplace(archive, name, import.out);
  check_array(columns, import, *columns.cluster, false);
  if (!columns.cluster->whole())
    throw Error(ErrorKind::data, "holds real numbers, clusters are integers: save them as int64",
                {.file = import.file, .dataset = name});
  columns.schema.cluster = true;
}

Columns open_columns(const NpzImport& import, const ZipArchive& archive) {
  if (import.action_kind == ActionKind::multilabel)
    throw Error(ErrorKind::usage, "an .npz archive has one action in a row; multilabel actions come from CSV files");
  Columns columns;
  Schema& schema = columns.schema;
  schema.action_kind = import.action_kind;
  schema.outcome = import.outcome_kind;
  schema.context_type = import.float32 ? FloatType::f32 : FloatType::f64;
  if (!import.context.empty()) {
    add_array(columns, import, archive, import.context, true);
    schema.features = columns.arrays.back().width();
  }
  for (const std::string* name : {&import.action, &import.outcome, &import.propensity})
    add_array(columns, import, archive, *name, false);
  const std::map<std::string, std::string> targets(import.targets.begin(), import.targets.end());
  for (const auto& [name, array] : targets) {
    schema.targets.push_back(name);
    add_array(columns, import, archive, array, false);
  }
  add_cluster(columns, import, archive);
  if (import.action_kind == ActionKind::categorical)
    schema.num_actions = import.num_actions > 0 ? import.num_actions : count_actions(import, archive);
  return columns;
}

/// As a person would look it up: "context[:, 3]".
std::string array_of_value(const Columns& columns, std::size_t value) {
  for (const NpyArray& array : columns.arrays) {
    const auto width = static_cast<std::size_t>(array.width());
    if (value < width) return array.shape().size() > 1 ? fmt::format("{}[:, {}]", array.name(), value) : array.name();
    value -= width;
  }
  return "";
}

void require_block_fits(const NpzImport& import, const Columns& columns) {
  if (import.memory == 0) return;
  const auto block = static_cast<double>(block_buffer_bytes(columns.schema));
  const auto rows = static_cast<double>(std::min(columns.rows, chunk_rows(columns.schema, import.write)));
  double tiles = 0;
  for (const NpyArray& array : columns.arrays) tiles += static_cast<double>(array.tile_bytes());
  const double needed = block + 2 * rows * block / kBlockRows + tiles;
  if (needed <= static_cast<double>(import.memory)) return;
  constexpr double kMega = 1 << 20;
  throw Error(
      ErrorKind::memory,
      fmt::format("importing rows of {} features needs {:.1f} MiB and the memory budget leaves {:.1f} MiB; give "
                  "a larger --memory",
                  columns.schema.features, needed / kMega, static_cast<double>(import.memory) / kMega),
      {.file = import.file});
}

/// Reads every row; bad ones are counted, and once one has made writing pointless only counted.
Audit write_rows(const NpzImport& import, Columns& columns, ShardSequence& shards, const BytesProgress& progress) {
  RowBuilder builder(columns.schema);
  Audit audit;
  bool writing = true;
  for (std::int64_t row = 0; row < columns.rows; ++row) {
    if (writing && (builder.full() || shards.ends_before(row, builder.rows()))) {
      shards.append(builder.take());
      if (progress) progress(row, columns.rows);
      while (shards.ends_before(row, 0)) shards.start_next_shard();
    } else if (builder.full()) {
      builder.take();
    }
    double* out = builder.values().data();
    for (NpyArray& array : columns.arrays) {
      array.read(out, static_cast<std::size_t>(array.width()));
      out += array.width();
    }
    if (columns.cluster) {
      std::int64_t number = 0;
      columns.cluster->read(&number, 1);
      builder.set_cluster(number);
    }
    if (const auto violation = builder.audit()) {
      ++audit.counts[static_cast<std::size_t>(violation->reason)];
      if (!audit.first)
        audit.first = {violation->reason, import.file, array_of_value(columns, violation->value), row,
                       builder.values()[violation->value]};
      writing = writing && import.skip_bad_rows;
      continue;
    }
    builder.store();
  }
  if (writing) shards.append(builder.take());
  return audit;
}

}  // namespace

ImportResult import_npz(const NpzImport& import, const BytesProgress& progress) {
  check_output(import);
  const ZipArchive archive(import.file);
  Columns columns = open_columns(import, archive);
  require_block_fits(import, columns);
  ShardSequence shards(import, columns.schema, columns.rows);
  const Audit audit = write_rows(import, columns, shards, progress);
  if (!import.skip_bad_rows) require_no_bad_rows(audit, true);
  shards.commit();
  ImportResult result;
  result.rows = shards.rows();
  result.shards = shards.count();
  result.schema = columns.schema;
  result.bad_rows = audit.counts;
  if (const std::string warning =
          unlogged_numbers_warning(shards.action_counts(), columns.schema, import.num_actions > 0);
      !warning.empty())
    result.warnings.push_back(warning);
  return result;
}

}  // namespace scrm
