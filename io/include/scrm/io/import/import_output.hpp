/// What imports share, whatever format the rows come from: where they are written, and what is told about them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scrm/io/shard/audit.hpp"
#include "scrm/io/shard/schema.hpp"
#include "scrm/io/shard/shard_writer.hpp"

namespace scrm {

struct ImportOutput {
  std::string out;                  ///< an .h5 file, or a folder for part-00000.h5, part-00001.h5, ...
  int shards = 0;                   ///< so many of about equal size; 0: one, or as rows_per_shard says
  std::int64_t rows_per_shard = 0;  ///< 0: no limit
  bool overwrite = false;           ///< replace a folder of shards
  bool skip_bad_rows = false;
  WriteOptions write;
  std::size_t memory = 0;  ///< bytes that the import may take; 0: no limit
};

/// What can be wrong with a record of a text before its numbers can be audited.
enum class BadRecordReason : std::uint8_t { wrong_number_of_fields, value_missing, not_a_number, unknown_level };
inline constexpr int kBadRecordReasons = 4;
const char* to_string(BadRecordReason reason) noexcept;
const char* key(BadRecordReason reason) noexcept;

struct ImportResult {
  std::int64_t rows = 0;  ///< written
  int shards = 0;
  Schema schema;
  std::array<std::int64_t, kBadRecordReasons> bad_records{};
  std::array<std::int64_t, kBadRowReasons> bad_rows{};
  std::int64_t filled_holes = 0;      ///< missing values that the encoding put something in place of
  std::int64_t other_levels = 0;      ///< values that are no level of the encoding, and became "other"
  bool encoding_written = false;      ///< rather than used from its file, or not asked for
  std::vector<std::string> warnings;  ///< what was imported but is likely not what was meant

  std::int64_t skipped_rows() const noexcept;
};

/// Called from time to time with the bytes read and the bytes in all (0: not known).
using BytesProgress = std::function<void(std::int64_t done, std::int64_t total)>;

}  // namespace scrm
