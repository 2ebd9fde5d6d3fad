/// run_sweep: environments × methods × hyper-parameters × seeds, concurrently, into one archive that loses nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/ranks/ranks.hpp"
#include "scrm/engine/schedule/stop_token.hpp"
#include "scrm/experiments/sweep_file.hpp"
#include "scrm/io/archive/run_record.hpp"

namespace scrm {

/// How far a sweep is.
struct SweepState {
  std::size_t runs = 0;  ///< in all
  std::size_t done = 0;  ///< finished, those of earlier invocations included
  std::size_t failed = 0;
  double share = 0;                 ///< of the work of this invocation, by its estimated cost
  double rows_read = 0;             ///< in this invocation, rows times passes
  const RunRecord* last = nullptr;  ///< the run that just finished, if any
};

/// One of several processes' share of a sweep.
struct SweepPart {
  int index = 1;  ///< from 1
  int count = 1;
};

/// "3/64"; a usage Error for anything else.
SweepPart parse_part(const std::string& text);
std::string to_string(const SweepPart& part);

struct SweepOptions {
  std::string out;                ///< the archive; finished runs wait in a journal beside it
  std::optional<SweepPart> part;  ///< run this part alone; merge_parts() puts the archives of all parts together
  bool resume = false;            ///< go on with what the journal or the archive holds
  bool overwrite = false;         ///< replace an archive that is there
  int threads = 0;                ///< 0: all cores
  std::size_t memory = 0;         ///< bytes; 0: no limit
  Ranks* ranks = nullptr;         ///< that do the runs together; the first of them writes the archive
  StopToken stop;
  std::optional<std::uint64_t> shuffle_seed;           ///< start runs in an order drawn from this seed
  std::function<void(const SweepState&)> on_progress;  ///< never from two threads at once
  std::function<void(const std::string&)> on_warning;
};

/// Where the finished runs of a sweep with this archive wait until all are; each rank has a file of its own.
std::string sweep_journal(const std::string& archive, int rank = 0);

/// A method that cannot play in an environment, and why. It has no runs there.
struct InapplicableMethod {
  std::string environment;
  std::string method;
  std::string reason;
};

struct SweepReport {
  std::vector<RunRecord> runs;                   ///< all runs of the archive, in its order
  std::vector<InapplicableMethod> inapplicable;  ///< left out of this sweep
  std::size_t resumed = 0;                       ///< finished before this invocation
  std::size_t unfinished = 0;                    ///< after a request to stop; the archive is not written then
  std::string journal;                           ///< where finished runs wait when it is not
};

/// Runs what is not done yet and writes the archive. A finished run is on disk before it counts; a run that fails is
/// recorded with its reason and the others go on. Runs' numbers depend on what they are alone: not on threads, order,
/// interruptions or the other runs. On ranks other than the first, the report is empty.
SweepReport run_sweep(const SweepFile& file, const SweepOptions& options);

/// What came of putting the parts of a sweep together.
struct MergeReport {
  std::vector<RunRecord> runs;  ///< all runs of the archive, in its order
  int parts = 0;
};

/// Writes the archive that one process would have written (but for times and hosts) from those of all parts, given in
/// any order. Throws, naming files and parts, where a part is missing or comes twice, where a file is no part, belongs
/// to another sweep or was made with another instruction set.
MergeReport merge_parts(const std::vector<std::string>& parts, const std::string& out);

}  // namespace scrm
