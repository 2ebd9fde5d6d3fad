/// Which field of a CSV record becomes what in a row.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scrm/io/csv_import.hpp"
#include "scrm/io/schema.hpp"

namespace scrm {

/// Positions of the fields for every quantity, and the schema they make.
struct CsvColumns {
  Schema schema;  ///< num_actions of a categorical action as the import states it, perhaps 0
  std::vector<std::size_t> context;
  std::vector<std::size_t> action;
  std::size_t loss = 0;
  double loss_sign = 1;                 ///< -1 for a column of rewards
  std::vector<std::size_t> propensity;  ///< one, or none where label_propensity stands for it
  std::vector<std::size_t> label_propensity;
  std::vector<std::size_t> targets;  ///< in the order of schema.targets
};

/// Finds the columns in the header. Throws a usage Error for names that are not there and for choices that do not go
/// together.
CsvColumns choose_columns(const CsvImport& import, const std::vector<std::string>& header);

/// The same for the context alone: positions of names, ranges and prefixes. At least one must be given.
std::vector<std::size_t> choose_context_columns(const std::string& file, const std::vector<std::string>& patterns,
                                                const std::vector<std::string>& header);

}  // namespace scrm
