/// NPZ import: arrays that numpy.savez wrote, such as Open Bandit Pipeline's bandit feedback, to the shards of a log.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scrm/io/import/import_output.hpp"
#include "scrm/io/shard/schema.hpp"

namespace scrm {

/// Which arrays are taken; the names are those of OBP's dictionary. All have one row for each round.
struct NpzImport : ImportOutput {
  std::string file;
  std::string context = "context";  ///< [n] or [n, d]; empty: rows without context
  std::string action = "action";    ///< [n]
  std::string outcome = "reward";   ///< [n]
  Outcome outcome_kind = Outcome::reward;
  std::string propensity = "pscore";                         ///< [n]
  std::vector<std::pair<std::string, std::string>> targets;  ///< name of the target, array [n]
  std::string cluster;  ///< [n], integers; empty: the array `cluster` where there is one

  ActionKind action_kind = ActionKind::categorical;  ///< or continuous
  int num_actions = 0;                               ///< 0: the array `n_actions`, or the largest action and one more
  bool float32 = false;
};

/// Runs the import in constant memory. Either all shards appear or none; whatever fails throws an Error that names
/// file, array and row.
ImportResult import_npz(const NpzImport& import, const BytesProgress& progress = {});

}  // namespace scrm
