/// Which field of a CSV record becomes what in a row.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/import/encoding.hpp"
#include "scrm/io/shard/schema.hpp"

namespace scrm {

/// Positions of the fields for every quantity, and the schema they make, whose features an Encoding adds.
struct CsvColumns {
  Schema schema;  ///< num_actions of a categorical action as the import states it, perhaps 0
  std::vector<std::size_t> context;
  std::vector<std::size_t> action;
  std::vector<std::size_t> loss;        ///< one, or none in contexts
  std::vector<std::size_t> propensity;  ///< one, or none where label_propensity stands for it
  std::vector<std::size_t> label_propensity;
  std::vector<std::size_t> targets;      ///< in the order of schema.targets
  std::vector<std::size_t> cluster;      ///< one, or none
  std::vector<std::size_t> categorical;  ///< of `context` and `action`
};

/// Throws a usage Error; options that do not fit the file name it.
[[noreturn]] void fail_import(const std::string& what, const std::string& file = "");

/// Whether a record is the header once more, as where files were joined.
bool repeats_header(std::span<const std::string_view> fields, const std::vector<std::string>& header);

/// Whether a field is among those of a quantity.
bool contains(const std::vector<std::size_t>& positions, std::size_t position);

/// Finds the columns in the header of a file. Throws a usage Error for names that are not there and for choices that do
/// not go together.
CsvColumns choose_columns(const CsvImport& import, const std::string& file, const std::vector<std::string>& header);

/// A sentence for each column of the context that has another role too, which tells what was done or what came of it. A
/// pattern takes no such column, but a name does.
std::vector<std::string> leak_warnings(const CsvColumns& columns, const std::vector<std::string>& header);

/// The same columns in the header of another file, by their names. Throws where one is not there, and where a prefix of
/// the import fits a column that the first file does not have.
CsvColumns match_columns(const CsvImport& import, const CsvColumns& first, const std::vector<std::string>& first_header,
                         const std::string& file, const std::vector<std::string>& header);

/// The columns of rows that have a context alone; `option` is what asks for them.
CsvColumns choose_context_columns(const std::string& option, const std::string& file,
                                  const std::vector<std::string>& patterns, const std::vector<std::string>& header);

/// Positions of names, ranges and prefixes; `option` is what asks for them.
std::vector<std::size_t> expand_columns(const std::string& option, const std::string& file,
                                        const std::vector<std::string>& patterns,
                                        const std::vector<std::string>& header);

}  // namespace scrm
