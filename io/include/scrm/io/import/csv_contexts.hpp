/// Contexts from CSV files: the features of rows that wait for an action, and the columns that go with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scrm/io/import/encoding.hpp"
#include "scrm/io/import/import_output.hpp"

namespace scrm {

/// Where contexts come from and go to.
struct CsvContexts {
  std::string file = {};  ///< may be gzip-compressed
  char delimiter = ',';
  /// Lists of names, ranges "first:last" and prefixes "x*", as CsvImport has them; empty: those of the encoding.
  std::vector<std::string> context = {};
  std::string asked_by = "--context";      ///< what asks for these columns, in messages
  std::optional<Encoding> encoding = {};   ///< none: the columns are numbers or dates
  std::string shard = {};                  ///< to write
  std::vector<std::string> keep = {};      ///< columns to keep as they are, in lists too; empty: all
  std::vector<std::string> replaced = {};  ///< columns that "all" does not mean: the output has its own of these names
  std::string kept = {};                   ///< file to keep them in; empty: not
  std::size_t memory = 0;                  ///< bytes; 0: no limit
};

/// What became of a file: which columns were kept, which were not since they are replaced, and what the encoding had to
/// put in place of values.
struct ContextsResult {
  std::vector<std::string> kept = {}, replaced = {};
  std::int64_t filled_holes = 0;  ///< missing values
  std::int64_t other_levels = 0;  ///< values that are no level of the encoding, and became "other"
  std::vector<std::string> warnings = {};
};

/// Writes the columns to one shard of contexts, in constant memory, and says what became of them. No
/// row is ever left out, since their order is how actions find back to them: any bad one throws an Error that names
/// file, line, column and value, and how many there are. So does an Error of kind memory where a block of rows does not
/// fit into `memory` bytes.
ContextsResult import_csv_contexts(const CsvContexts& contexts, const BytesProgress& progress = {});

/// What import_csv_contexts has kept, row by row, in the order of the files.
class KeptColumns {
 public:
  explicit KeptColumns(std::vector<std::string> files);
  ~KeptColumns();
  KeptColumns(KeptColumns&&) noexcept;
  KeptColumns& operator=(KeptColumns&&) noexcept;

  /// The fields of the next row as they stand in a CSV line, with a comma behind each; valid until the next call.
  /// Throws when there is none.
  std::string_view next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A text as a field of a CSV line: in quotes where it needs them.
std::string csv_field(std::string_view text);

}  // namespace scrm
