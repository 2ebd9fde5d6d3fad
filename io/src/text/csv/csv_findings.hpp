/// What only a look through all records of an import tells: how many there are, its actions, and how to encode columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/import/encoding.hpp"
#include "text/csv/csv_columns.hpp"

namespace scrm {

struct CsvFindings {
  std::int64_t records = 0;
  std::vector<EncodedColumn> columns;     ///< in the order of the context
  double largest_action = -1;             ///< categorical actions that are numbers
  std::vector<std::string> action_names;  ///< categorical actions that are names: every one, sorted
};

/// Reads all files once. `columns` are those of the first, whose header is `header`.
CsvFindings scan_records(const CsvImport& import, const CsvColumns& columns, const std::vector<std::string>& header,
                         const BytesProgress& progress);

}  // namespace scrm
