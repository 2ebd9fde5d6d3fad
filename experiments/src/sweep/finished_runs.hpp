/// FinishedRuns: runs that earlier invocations of a sweep finished, from its archive and its journal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scrm/experiments/sweep.hpp"
#include "scrm/io/archive/run_journal.hpp"
#include "sweep/plan.hpp"

namespace scrm {

class FinishedRuns {
 public:
  /// Both outlive this.
  FinishedRuns(const SweepPlan& plan, const SweepOptions& options);

  /// Reads what the archive and the journal hold, and refuses where going on would lose or mix something.
  void load();
  /// Moves what other ranks' journals hold into this one, which is open, so that no rank begins with old runs.
  void take_over_journals(RunJournal& journal) const;
  /// Deletes the journals of other ranks, whose runs are kept elsewhere by now.
  void remove_rank_journals() const;
  /// Keeps runs that succeeded; those that failed are tried again.
  void keep(const std::vector<RunRecord>& records);

  const std::string& journal_path() const noexcept { return journal_path_; }
  /// What the journal begins with: the arithmetic and the options of the sweep that began it.
  const std::string& journal_header() const noexcept { return journal_header_; }

  /// By identity, those that the plan no longer asks for too.
  const std::map<std::string, RunRecord>& records() const noexcept { return records_; }
  /// Null where the run is not finished.
  const RunRecord* find(const std::string& identity) const;
  /// How many the plan asks for.
  std::size_t planned() const;

 private:
  void require_nothing_lost(bool archive_exists) const;
  /// Whether these runs may go on, and their header.
  void require_same_sweep(const JournalContents& journal, const std::string& path) const;
  /// Other vector code rounds otherwise: one archive holds the runs of one.
  void require_same_arithmetic(const std::string& isa, const std::string& core, const std::string& file) const;
  void require_same_options(const std::string& before, const std::string& file) const;
  /// Another part has other runs, and so has the same part of another plan.
  void require_same_part(const std::string& part, const std::string& plan, const std::string& file) const;
  std::string part_header() const;
  void require_same_identities() const;

  const SweepPlan& plan_;
  const SweepOptions& options_;
  struct NamedJournal {
    std::string path;
    JournalContents contents;
  };
  /// Those that hold something: this rank's, then the others'.
  std::vector<NamedJournal> read_journals() const;

  std::string journal_path_;
  std::vector<NamedJournal> journals_;
  std::string journal_header_;
  std::map<std::string, RunRecord> records_;
};

}  // namespace scrm
