/// Substitutions: how often an encoding put something in place of what a column held, and when that is worth a warning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scrm/io/import/encoding.hpp"

namespace scrm {

/// Of one column.
struct Substitutions {
  std::int64_t holes = 0;         ///< missing values that were filled
  std::int64_t other_levels = 0;  ///< values that are no level of the encoding, and became "other"
  std::string first_other;        ///< the first of them

  /// Adds those of later rows.
  void merge(Substitutions later);
};

/// Those of all columns; of the texts the first.
Substitutions total(const std::vector<Substitutions>& columns);

/// A sentence for each column that says next to nothing after encoding: more than half of the rows have levels that the
/// encoding does not know, or none has a value. Columns in the order of the encoding.
std::vector<std::string> substitution_warnings(const Encoding& encoding, const std::vector<Substitutions>& columns,
                                               std::int64_t rows);

}  // namespace scrm
