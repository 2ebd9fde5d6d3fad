/// ResultArchive: all runs of a sweep as one columnar HDF5 file, which h5py and pandas open without help.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scrm/io/archive/run_record.hpp"

namespace scrm {

struct ResultArchive {
  /// Of the root: the sweep's text, version, host and the like. `format` and `format_version` are the archive's own.
  std::map<std::string, std::string> attributes;
  std::vector<RunRecord> runs;  ///< rows of the archive, in this order
};

/// Writes the archive; it appears under its name when it is complete. The same content gives the same bytes. Layout:
/// runs/{environment, method, hyperparameter, lambda_rule, seed, identity, status, message, final_loss, seconds,
/// rollouts} one row a run; runs/{loss, rows, regret} [runs, most rollouts of any run], shorter runs padded with NaN (0
/// in rows); runs/theta of variable length; one more column for every key of `numbers` and `curves`, NaN where a run
/// has none, listed in the attributes extra_numbers and extra_curves of the group. All curves of a run must be as long
/// as its loss. HDF5 text is UTF-8 without NULs: other bytes become U+FFFD.
void write_archive(const std::string& path, const ResultArchive& archive);

/// Whether the file says that it is an archive; false where it cannot be read.
bool is_archive(const std::string& path);

/// Every number of the archive, to the bit. Columns that are not listed above or in extra_* are left alone.
ResultArchive read_archive(const std::string& path);

}  // namespace scrm
