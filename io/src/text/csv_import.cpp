#include "scrm/io/csv_import.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "scrm/io/atomic_folder.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/numbers.hpp"
#include "text/csv_columns.hpp"
#include "text/csv_reader.hpp"
#include "text/csv_rows.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// What must be known before the first row is written and only a look through the whole file tells.
struct CsvTotals {
  std::int64_t records = 0;
  double largest_action = -1;
};

bool is_file_name(const std::string& out) {
  return fs::path(out).extension() == ".h5";
}

void check_output(const CsvImport& import) {
  const auto fail_usage = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
  if (import.out.empty()) fail_usage("--out is missing: name an .h5 file or a folder");
  if (import.shards < 0 || import.rows_per_shard < 0) fail_usage("--shards and --rows-per-shard must be at least 1");
  if (import.shards > 0 && import.rows_per_shard > 0) fail_usage("--shards and --rows-per-shard exclude each other");
  if (is_file_name(import.out) && (import.shards > 1 || import.rows_per_shard > 0))
    fail_usage(fmt::format("--out {} is one file; name a folder for several shards", import.out));
}

/// Progress of the first (0) or the second (1) of two readings of a file, as a share of both.
BytesProgress part_of_two(const BytesProgress& progress, int part) {
  if (!progress) return {};
  return [&progress, part](std::int64_t done, std::int64_t total) { progress(part * total + done, 2 * total); };
}

CsvTotals scan_totals(const CsvImport& import, const CsvColumns& columns, const BytesProgress& progress) {
  CsvReader reader(import.file, import.delimiter);
  const bool categorical = import.action_kind == ActionKind::categorical;
  CsvTotals found;
  while (reader.next()) {
    if (++found.records % kBlockRows == 0 && progress) progress(reader.bytes_done(), reader.bytes_total());
    const std::size_t field = columns.action.front();
    if (!categorical || field >= reader.fields().size()) continue;
    if (const auto action = parse_double(reader.fields()[field]))
      found.largest_action = std::max(found.largest_action, *action);
  }
  return found;
}

/// Categories are counted from 0, so a stray huge number would make an absurd policy rather than a bad row.
int count_actions(const CsvImport& import, double largest) {
  constexpr double kMaxActions = 1e6;
  if (!(largest < kMaxActions))
    throw Error(ErrorKind::data,
                fmt::format("the largest action is {}; give --num-actions to say how many there are", largest),
                {.file = import.file});
  return std::max(1, static_cast<int>(std::floor(largest)) + 1);
}

/// The files of the import, opened one after another.
class ShardSequence {
 public:
  ShardSequence(const CsvImport& import, const Schema& schema, std::int64_t records)
      : import_(import), schema_(schema), records_(records) {
    if (!is_file_name(import.out)) folder_.emplace(import.out, import.overwrite);
    open();
  }

  /// Before record number `record` (from 0, bad ones counted) is added: whether the shard at hand is to end here.
  bool ends_before(std::int64_t record, std::int64_t rows_in_block) const {
    if (import_.shards > 0) return record >= first_record(opened_);
    return writer_->rows() + rows_in_block >= (import_.rows_per_shard > 0 ? import_.rows_per_shard : kNoLimit);
  }

  void append(const Block& block) {
    rows_ += block.rows;
    with_final_path([&] { writer_->append(block); });
  }

  void start_next_shard() {
    with_final_path([&] { writer_->commit(); });
    open();
  }

  void commit() {
    // Every shard that was asked for is there, even when the file has fewer rows than that.
    while (opened_ < import_.shards) start_next_shard();
    with_final_path([&] { writer_->commit(); });
    if (folder_) folder_->commit();
  }

  int count() const noexcept { return opened_; }
  std::int64_t rows() const noexcept { return rows_; }

 private:
  std::int64_t first_record(int shard) const {
    if (shard >= import_.shards) return kNoLimit;
    const std::int64_t each = records_ / import_.shards;
    return each * shard + std::min<std::int64_t>(shard, records_ % import_.shards);
  }

  void open() {
    const std::string path =
        folder_ ? fmt::format("{}/part-{:05}.h5", folder_->temporary_path(), opened_) : import_.out;
    ++opened_;
    with_final_path([&] { writer_.emplace(path, schema_, import_.write); });
  }

  /// Errors name the folder that was asked for, not the temporary one, which is removed.
  void with_final_path(const std::function<void()>& action) const { folder_ ? folder_->write(action) : action(); }

  const CsvImport& import_;
  const Schema& schema_;
  std::int64_t records_;
  std::optional<AtomicFolder> folder_;
  std::optional<ShardWriter> writer_;
  int opened_ = 0;
  std::int64_t rows_ = 0;
};

/// Reads all records; `out` is null once a bad row has made writing pointless and only counting is left.
void read_records(const CsvImport& import, CsvReader& reader, CsvRows& rows, ShardSequence* out,
                  const BytesProgress& progress) {
  for (std::int64_t record = 0; reader.next(); ++record) {
    if (out != nullptr && (rows.full() || out->ends_before(record, rows.rows()))) {
      out->append(rows.take());
      if (progress) progress(reader.bytes_done(), reader.bytes_total());
      while (out->ends_before(record, 0)) out->start_next_shard();
    } else if (rows.full()) {
      rows.take();
    }
    if (!rows.add(reader.fields(), reader.line()) && !import.skip_bad_rows) out = nullptr;
  }
  if (out != nullptr) out->append(rows.take());
}

}  // namespace

const char* to_string(BadRecordReason reason) noexcept {
  switch (reason) {
    case BadRecordReason::wrong_number_of_fields:
      return "wrong number of fields";
    case BadRecordReason::value_missing:
      return "a value is missing";
    case BadRecordReason::not_a_number:
      return "a value is not a number";
  }
  return "";
}

const char* key(BadRecordReason reason) noexcept {
  switch (reason) {
    case BadRecordReason::wrong_number_of_fields:
      return "wrong_number_of_fields";
    case BadRecordReason::value_missing:
      return "value_missing";
    case BadRecordReason::not_a_number:
      return "not_a_number";
  }
  return "";
}

std::int64_t CsvImportResult::skipped_rows() const noexcept {
  return std::accumulate(bad_records.begin(), bad_records.end(), std::int64_t{0}) +
         std::accumulate(bad_rows.begin(), bad_rows.end(), std::int64_t{0});
}

CsvImportResult import_csv(const CsvImport& import, const BytesProgress& progress) {
  check_output(import);
  CsvReader reader(import.file, import.delimiter);
  CsvColumns columns = choose_columns(import, reader.header());
  const bool count_categories = import.action_kind == ActionKind::categorical && import.num_actions == 0;
  CsvTotals found;
  BytesProgress on_bytes = progress;
  if (count_categories || import.shards > 1) {
    if (reader.bytes_total() == 0)
      throw Error(ErrorKind::usage,
                  "a pipe can be read only once: leave out --shards (--rows-per-shard is fine), and give --num-actions",
                  {.file = import.file});
    found = scan_totals(import, columns, part_of_two(progress, 0));
    on_bytes = part_of_two(progress, 1);
  }
  if (count_categories) columns.schema.num_actions = count_actions(import, found.largest_action);

  require_block_fits(reader, columns.schema, import.write, import.memory);
  CsvRows rows(columns, reader.header());
  ShardSequence shards(import, columns.schema, found.records);
  read_records(import, reader, rows, &shards, on_bytes);
  if (!import.skip_bad_rows) rows.require_no_bad_rows(import.file, true);
  shards.commit();

  CsvImportResult result;
  result.rows = shards.rows();
  result.shards = shards.count();
  result.schema = columns.schema;
  result.bad_records = rows.bad_records();
  result.bad_rows = rows.bad_rows();
  return result;
}

}  // namespace scrm
