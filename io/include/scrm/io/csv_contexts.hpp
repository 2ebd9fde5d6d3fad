/// Contexts from a CSV file: the features of rows that wait for an action.
#pragma once

#include <string>
#include <vector>

#include "scrm/io/csv_import.hpp"

namespace scrm {

/// Writes the columns to one shard of contexts, in constant memory. `columns` are names, ranges "first:last" and
/// prefixes "x*", as in CsvImport. No row is ever left out, since their order is how actions find back to them: any bad
/// one throws an Error that names file, line, column and value, and how many there are. So does an Error of kind memory
/// where a block of rows does not fit into `memory` bytes (0: no limit).
void import_csv_contexts(const std::string& file, const std::vector<std::string>& columns, const std::string& shard,
                         const BytesProgress& progress = {}, std::size_t memory = 0);

}  // namespace scrm
