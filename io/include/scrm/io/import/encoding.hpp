/// Encoding: how the columns of a table become the features and actions of a log; learned from one file, kept beside
/// the data, and used again unchanged for the next file and for the contexts a policy acts on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace scrm {

/// What the values of a column are.
enum class ColumnKind : std::uint8_t {
  number,
  date,        ///< ISO 8601, 2026-01-31 or 2026-01-31T12:34:56Z: days since 1970-01-01 UTC, with their fraction
  categorical  ///< one feature for each level: 1 where the value is that level, else 0
};

/// What becomes of a level that is not in the encoding.
enum class UnseenLevel : std::uint8_t {
  other,  ///< 1 in the column's feature "other"
  error   ///< a bad row
};

/// What stands for a value that is missing. Except with `error`, columns with holes get one more feature, which is 1 at
/// each hole; levels are then all 0.
enum class Impute : std::uint8_t { error, mean, zero };

struct EncodedColumn {
  std::string name;  ///< in the header of the table
  ColumnKind kind = ColumnKind::number;
  std::vector<std::string> levels = {};  ///< of a categorical column
  double fill = 0;                       ///< of numbers and dates: what stands for a hole
  bool missing = false;                  ///< whether a feature says where the holes are
};

/// The recipe. Features stand in the order of the columns.
struct Encoding {
  UnseenLevel unseen = UnseenLevel::other;
  Impute impute = Impute::error;
  std::vector<EncodedColumn> columns;
  int num_actions = 0;               ///< of categorical actions; 0: not known, or of another kind
  std::vector<std::string> actions;  ///< names of the actions, in the order of their numbers; empty: they are numbers
};

/// The bounds of what is learned: beyond them a column is an identifier rather than a category.
inline constexpr std::size_t kMaxLevels = 1000;
inline constexpr std::size_t kMaxActionNames = std::size_t{1} << 16;
inline constexpr std::size_t kMaxLevelBytes = 256;

/// How many features the column becomes: one, or one for each level and perhaps for others, and one where holes are
/// told.
std::int64_t feature_count(const EncodedColumn& column, const Encoding& encoding);

/// Whether levels that are not listed have a feature of their own. Not where a level is named "other": it is theirs
/// too.
bool has_other_feature(const EncodedColumn& column, const Encoding& encoding);

/// Names of all features: "age", "age missing", "city=Lyon", "city=other", as UTF-8 on one line each. Throws a usage
/// Error where two are the same.
std::vector<std::string> feature_names(const Encoding& encoding);

/// Names of actions as a log holds them: as UTF-8 on one line each. Throws a usage Error that names both where two
/// become the same.
std::vector<std::string> one_line_names(const std::vector<std::string>& actions);

/// As TOML that read_encoding reads back to the same bits.
std::string encoding_text(const Encoding& encoding);

/// Errors name file, line and key. A text that takes more than `memory` bytes is an Error of kind memory.
Encoding read_encoding(const std::string& path, std::size_t memory);

const char* to_string(ColumnKind kind) noexcept;
const char* to_string(UnseenLevel unseen) noexcept;
const char* to_string(Impute impute) noexcept;

}  // namespace scrm
