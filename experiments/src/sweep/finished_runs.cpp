#include "sweep/finished_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "scrm/io/error.hpp"
#include "scrm/io/result_archive.hpp"

namespace scrm {

FinishedRuns::FinishedRuns(const SweepPlan& plan, const SweepOptions& options)
    : plan_(plan), options_(options), journal_path_(options.out + ".journal") {}

void FinishedRuns::load() {
  journal_header_ = plan_.options_text();
  const bool archive_exists = std::filesystem::exists(options_.out);
  const std::optional<JournalContents> journal = read_journal(journal_path_);
  if (!options_.resume) return require_nothing_lost(archive_exists, journal);
  if (archive_exists) {
    ResultArchive archive = read_archive(options_.out);
    require_same_options(archive.attributes["options"], options_.out);
    keep(archive.runs);
  }
  if (journal) {
    require_same_options(journal->header_text, journal_path_);
    journal_header_ = journal->header_text;
    keep(journal->records);
  }
  require_same_identities();
}

void FinishedRuns::keep(const std::vector<RunRecord>& records) {
  for (const RunRecord& record : records) {
    if (record.ok) records_[record.identity] = record;
  }
}

const RunRecord* FinishedRuns::find(const std::string& identity) const {
  const auto found = records_.find(identity);
  return found != records_.end() ? &found->second : nullptr;
}

std::size_t FinishedRuns::planned() const {
  std::size_t count = 0;
  for (const PlannedRun& run : plan_.runs()) count += records_.count(run.record.identity);
  return count;
}

void FinishedRuns::require_nothing_lost(bool archive_exists, const std::optional<JournalContents>& journal) const {
  // A sweep that was stopped before its first run was finished has nothing to lose.
  if (journal && (!journal->records.empty() || journal->torn_bytes > 0)) {
    throw Error(ErrorKind::usage,
                fmt::format("an unfinished sweep is here, with {} finished runs; --resume goes on with it, or "
                            "delete the file to begin anew",
                            journal->records.size()),
                {.file = journal_path_});
  }
  if (archive_exists && !options_.overwrite) {
    throw Error(ErrorKind::usage, "the archive is there already; --resume adds what it lacks, --overwrite replaces it",
                {.file = options_.out});
  }
}

void FinishedRuns::require_same_options(const std::string& before, const std::string& file) const {
  const std::vector<std::string> found = option_conflicts(before, plan_.options_text());
  if (found.empty()) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("these runs were made under other options ({}{}), so going on would mix two experiments; "
                  "undo the change, or write to another --out",
                  fmt::join(found.begin(), found.begin() + std::min<std::ptrdiff_t>(3, std::ssize(found)), "; "),
                  found.size() > 3 ? fmt::format("; and {} more", found.size() - 3) : ""),
      {.file = file});
}

void FinishedRuns::require_same_identities() const {
  // Experiments added to a sweep after its journal was begun are not in its header: their runs speak for themselves.
  std::map<std::string, std::string> planned;
  for (const PlannedRun& run : plan_.runs()) {
    if (plan_.experiments()[run.experiment].factory != nullptr) planned[run_key(run.record)] = run.record.identity;
  }
  for (const auto& [identity, record] : records_) {
    const auto same = planned.find(run_key(record));
    if (same == planned.end() || same->second == identity) continue;
    throw Error(ErrorKind::usage,
                fmt::format("the finished run {} was made under other options, so going on would mix two experiments; "
                            "undo the change, or write to another --out",
                            same->first),
                {.file = options_.out});
  }
}

}  // namespace scrm
