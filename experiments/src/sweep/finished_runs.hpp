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
  void require_nothing_lost(bool archive_exists, const std::optional<JournalContents>& journal) const;
  /// Other vector code rounds otherwise: one archive holds the runs of one.
  void require_same_arithmetic(const std::string& isa, const std::string& core, const std::string& file) const;
  void require_same_options(const std::string& before, const std::string& file) const;
  /// Another part has other runs, and so has the same part of another plan.
  void require_same_part(const std::string& part, const std::string& plan, const std::string& file) const;
  std::string part_header() const;
  void require_same_identities() const;

  const SweepPlan& plan_;
  const SweepOptions& options_;
  std::string journal_path_;
  std::string journal_header_;
  std::map<std::string, RunRecord> records_;
};

}  // namespace scrm
