/// What only a look through all records of an import tells: how many there are, its actions, and how to encode columns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/import/encoding.hpp"
#include "text/csv/csv_columns.hpp"
#include "text/unpacked_text.hpp"

namespace scrm {

struct CsvFindings {
  std::int64_t records = 0;
  std::vector<EncodedColumn> columns;     ///< in the order of the context
  double largest_action = -1;             ///< categorical actions that are numbers
  std::vector<std::string> action_names;  ///< categorical actions that are names: every one, sorted
};

/// Reads all files once. `columns` are those of the first, whose header is `header`; `texts` are those of files that
/// have been unpacked, null for others.
CsvFindings scan_records(const CsvImport& import, const CsvColumns& columns, const std::vector<std::string>& header,
                         std::span<const std::shared_ptr<const UnpackedText>> texts, const BytesProgress& progress);

}  // namespace scrm
