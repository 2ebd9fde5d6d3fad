/// Acted rows as a CSV file, for systems that report losses in CSV files rather than in HDF5.
#pragma once

#include <string>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/import/csv_contexts.hpp"

namespace scrm {

/// Where the rows go, and what stands in front of each.
struct ActedCsv {
  const AtomicFile* file = nullptr;       ///< none: standard output
  std::vector<std::string> action_names;  ///< of categorical actions, written in place of their numbers
  std::vector<std::string> kept_names;    ///< columns that the contexts came with, written instead of the features
  KeptColumns* kept = nullptr;            ///< their fields
};

/// The columns of multilabel actions: their names, so that the file can be imported as the one before was, or action_0,
/// action_1, ... where they have none, a feature has one of them, or `scrm import --action` would take one for several.
std::vector<std::string> label_columns(const Schema& schema);

/// The columns that acting adds: action or label_columns(), propensity or log_propensity, label_propensity_0, ...
std::vector<std::string> acted_columns(const Schema& schema);

/// Names of all columns: those that are kept, or of the context (x0, x1, ... where it has none); then those that acting
/// adds. Throws a usage Error where a kept column has the name of one of these.
std::vector<std::string> acted_csv_header(const Schema& schema, const ActedCsv& csv);

/// Writes header and rows, every number in digits that read back to the same double. Sparse contexts are
/// written in full. One thread: what it holds is checked against options.memory.
void write_acted_csv(Source& source, const ActedCsv& csv, const PassOptions& options);

}  // namespace scrm
