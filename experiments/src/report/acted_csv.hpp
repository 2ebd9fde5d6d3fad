/// Acted rows as a CSV file, for systems that report losses in CSV files rather than in HDF5.
#pragma once

#include <string>
#include <vector>

#include "scrm/engine/pass.hpp"
#include "scrm/engine/source.hpp"
#include "scrm/io/atomic_file.hpp"

namespace scrm {

/// Names of the columns: x0, x1, ... (context), action or action_0, action_1, ..., propensity or log_propensity,
/// label_propensity_0, ...
std::vector<std::string> acted_csv_header(const Schema& schema);

/// Writes header and rows, every number in digits that read back to the same double. Sparse contexts are
/// written in full. One thread: what it holds is checked against options.memory.
void write_acted_csv(Source& source, const AtomicFile& out, const PassOptions& options);

}  // namespace scrm
