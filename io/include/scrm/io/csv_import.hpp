/// CSV import: the columns of a text file, by name, to the shards of a logged data set.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scrm/io/audit.hpp"
#include "scrm/io/schema.hpp"
#include "scrm/io/shard_writer.hpp"

namespace scrm {

/// What is imported and how. Columns are given by the names in the file's header.
struct CsvImport {
  std::string file;
  char delimiter = ',';

  /// Names, ranges "first:last" and prefixes "x*", the last two in file order and without the columns that have another
  /// role here. Empty: rows without context.
  std::vector<std::string> context;
  std::vector<std::string> action;  ///< one column, or one of 0 and 1 for each label
  std::string loss;                 ///< this or `reward`, whose sign is turned
  std::string reward;
  std::string propensity;  ///< one of these, or for multilabel actions `label_propensity` alone
  std::string log_propensity;
  std::vector<std::string> label_propensity;
  std::vector<std::pair<std::string, std::string>> targets;  ///< name of the target, column

  ActionKind action_kind = ActionKind::continuous;
  int num_actions = 0;   ///< categorical; 0: the largest action in the file and one more, found in a pass of its own
  bool float32 = false;  ///< context as float32

  std::string out;                  ///< an .h5 file, or a folder for part-00000.h5, part-00001.h5, ...
  int shards = 0;                   ///< so many of about equal size; 0: one, or as rows_per_shard says
  std::int64_t rows_per_shard = 0;  ///< 0: no limit
  bool overwrite = false;           ///< replace a folder of shards
  bool skip_bad_rows = false;
  WriteOptions write;
  std::size_t memory = 0;  ///< bytes that the import may take; 0: no limit
};

/// What can be wrong with a record before its numbers can be audited.
enum class BadRecordReason : std::uint8_t { wrong_number_of_fields, value_missing, not_a_number };
inline constexpr int kBadRecordReasons = 3;
const char* to_string(BadRecordReason reason) noexcept;
const char* key(BadRecordReason reason) noexcept;

struct CsvImportResult {
  std::int64_t rows = 0;  ///< written
  int shards = 0;
  Schema schema;
  std::array<std::int64_t, kBadRecordReasons> bad_records{};
  std::array<std::int64_t, kBadRowReasons> bad_rows{};

  std::int64_t skipped_rows() const noexcept;
};

/// Called from time to time with the bytes read and the bytes in all (0: not known).
using BytesProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Runs the import in constant memory. Either all shards appear or none: the first bad row (unless skip_bad_rows) and
/// anything else that fails throws an Error that names file, line, column and value.
CsvImportResult import_csv(const CsvImport& import, const BytesProgress& progress = {});

}  // namespace scrm
