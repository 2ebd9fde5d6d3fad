/// known_rows: which rows of a data set are those that a policy was learned from, and which of its files are copies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scrm/io/shard/fingerprint.hpp"

namespace scrm {

/// Of a data set, what a policy was learned from.
struct KnownRows {
  std::int64_t rows = 0;                ///< how many
  std::vector<std::int64_t> per_shard;  ///< how many of each shard of the data set
  std::vector<bool> found;              ///< which of the training's shards are there, or begin there
  bool in_place = false;   ///< every shard of the training begins at its own row number, and there are no rows beside
  bool reordered = false;  ///< shards are those of the training, each once, in another order
};

/// A shard of the training is known by its first rows: as a file, at the start of a longer or shorter one, and behind
/// another of them where files were put together. What lies in the middle of other rows is not found.
KnownRows find_known_rows(RowFingerprints& rows, std::span<const TrainingShard> training);

/// One sentence for each group of files that hold the same rows, as byte-identical copies do: files of one size whose
/// first and last rows are the same.
std::vector<std::string> copied_rows_warnings(RowFingerprints& rows);

}  // namespace scrm
