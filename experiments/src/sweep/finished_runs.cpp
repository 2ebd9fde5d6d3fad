#include "sweep/finished_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "scrm/engine/schedule/libraries.hpp"
#include "scrm/io/archive/result_archive.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/kernels/vector/isa.hpp"
#include "sweep/part.hpp"

namespace scrm {
namespace {

// A journal's header names these, the part and its plan as the attributes of an archive do.
constexpr const char* kInstructionSet = "instruction_set";
constexpr const char* kOpenblasCore = "openblas_core";
constexpr const char* kReplaces = "replaces_archive";
constexpr const char* kYes = "yes";

/// A value of the first lines of a journal's header, before the options of its experiments; empty where there is none.
std::string header_value(const std::string& header, const std::string& name) {
  std::istringstream lines(header);
  for (std::string line; std::getline(lines, line) && line.rfind('[', 0) != 0;)
    if (line.rfind(name + " = ", 0) == 0) return line.substr(name.size() + 3);
  return "";
}

}  // namespace

std::string sweep_journal(const std::string& archive, int rank) {
  return rank == 0 ? archive + ".journal" : fmt::format("{}.journal.{}", archive, rank);
}

FinishedRuns::FinishedRuns(const SweepPlan& plan, const SweepOptions& options)
    : plan_(plan), options_(options), journal_path_(sweep_journal(options.out)) {}

void FinishedRuns::load() {
  std::error_code unknown;
  const bool archive_exists = std::filesystem::exists(options_.out, unknown);
  journals_ = read_journals();
  // A sweep that was begun to replace an archive goes on to do so, whoever resumes it.
  const std::optional<JournalContents> journal = read_journal(journal_path_);
  const bool replaces = options_.resume ? journal && header_value(journal->header_text, kReplaces) == kYes
                                        : archive_exists && options_.overwrite;
  journal_header_ =
      fmt::format("{}{}{} = {}\n{} = {}\n{}", replaces ? fmt::format("{} = {}\n", kReplaces, kYes) : "", part_header(),
                  kInstructionSet, active_isa(), kOpenblasCore, openblas_core(), plan_.options_text());
  if (!options_.resume) return require_nothing_lost(archive_exists);
  if (archive_exists && !replaces) {
    ResultArchive archive = read_archive(options_.out);
    require_same_arithmetic(archive.attributes[kInstructionSet], archive.attributes[kOpenblasCore], options_.out);
    require_same_options(archive.attributes["options"], options_.out);
    require_same_part(archive.attributes[kPartAttribute], archive.attributes[kPlanAttribute], options_.out);
    keep(archive.runs);
  }
  for (const NamedJournal& one : journals_) {
    require_same_sweep(one.contents, one.path);
    if (one.path == journal_path_) journal_header_ = one.contents.header_text;
    keep(one.contents.records);
  }
  require_same_identities();
}

std::vector<FinishedRuns::NamedJournal> FinishedRuns::read_journals() const {
  std::vector<std::string> paths = {journal_path_};
  const std::filesystem::path own(journal_path_);
  const std::filesystem::path folder = own.has_parent_path() ? own.parent_path() : std::filesystem::path(".");
  const std::string prefix = own.filename().string() + ".";
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unknown)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || name.find_first_not_of("0123456789", prefix.size()) != name.npos) continue;
    paths.push_back((own.parent_path() / name).string());
  }
  std::sort(paths.begin() + 1, paths.end());
  std::vector<NamedJournal> found;
  for (const std::string& path : paths) {
    std::optional<JournalContents> journal = read_journal(path);
    // Of this rank's, one without records has nothing to mix, and RunJournal begins it anew.
    if (journal && (path != journal_path_ || !journal->records.empty() || journal->torn_bytes > 0))
      found.push_back({path, std::move(*journal)});
  }
  return found;
}

void FinishedRuns::take_over_journals(RunJournal& journal) const {
  std::set<std::string> there;
  for (const RunRecord& record : journal.initial_contents().records) there.insert(record.identity);
  for (const NamedJournal& one : journals_) {
    if (one.path == journal_path_) continue;
    // Throws where another process is at work on it.
    RunJournal other(one.path, one.contents.header_text);
    for (const RunRecord& record : other.initial_contents().records) {
      if (there.insert(record.identity).second) journal.append(record);
    }
    other.remove();
  }
}

void FinishedRuns::remove_rank_journals() const {
  std::error_code ignored;
  for (const NamedJournal& one : read_journals()) {
    if (one.path != journal_path_) std::filesystem::remove(one.path, ignored);
  }
}

void FinishedRuns::require_same_sweep(const JournalContents& journal, const std::string& path) const {
  require_same_arithmetic(header_value(journal.header_text, kInstructionSet),
                          header_value(journal.header_text, kOpenblasCore), path);
  require_same_options(journal.header_text, path);
  require_same_part(header_value(journal.header_text, kPartAttribute),
                    header_value(journal.header_text, kPlanAttribute), path);
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

void FinishedRuns::require_nothing_lost(bool archive_exists) const {
  // A sweep that was stopped before its first run was finished has nothing to lose.
  for (const NamedJournal& one : journals_) {
    if (one.contents.records.empty() && one.contents.torn_bytes == 0) continue;
    throw Error(ErrorKind::usage,
                fmt::format("an unfinished sweep is here, with {} finished runs; --resume goes on with it, or "
                            "delete the file to begin anew",
                            one.contents.records.size()),
                {.file = one.path});
  }
  if (archive_exists && !options_.overwrite) {
    throw Error(ErrorKind::usage, "the archive is there already; --resume adds what it lacks, --overwrite replaces it",
                {.file = options_.out});
  }
  require_replaceable(options_.out, options_.overwrite);
}

void FinishedRuns::require_same_arithmetic(const std::string& isa, const std::string& core,
                                           const std::string& file) const {
  std::vector<std::string> was, is, force;
  const auto compare = [&](const char* what, const std::string& before, const std::string& now, const char* variable) {
    if (before.empty() || before == now) return;
    was.push_back(fmt::format("{} {}", what, before));
    is.push_back(now);
    force.push_back(fmt::format("{}={}", variable, before));
  };
  compare("instruction set", isa, active_isa(), "SCRM_ISA");
  compare("OpenBLAS core", core, openblas_core(), "OPENBLAS_CORETYPE");
  if (was.empty()) return;
  throw Error(ErrorKind::usage,
              fmt::format("these runs were made with {}, this program now uses {}: runs of both in one archive would "
                          "differ in their last digits; go on where the processor is the same, force it with {} in the "
                          "environment, or write to another --out",
                          fmt::join(was, " and "), fmt::join(is, " and "), fmt::join(force, " ")),
              {.file = file});
}

std::string FinishedRuns::part_header() const {
  if (!options_.part) return "";
  return fmt::format("{} = {}\n{} = {}\n", kPartAttribute, to_string(*options_.part), kPlanAttribute,
                     plan_.fingerprint());
}

void FinishedRuns::require_same_part(const std::string& part, const std::string& plan, const std::string& file) const {
  const std::string now = options_.part ? to_string(*options_.part) : "";
  if (part != now) {
    throw Error(ErrorKind::usage,
                part.empty() ? fmt::format("holds a whole sweep; go on with it without --part {}, or write the part to "
                                           "another --out",
                                           now)
                             : fmt::format("holds part {} of a sweep; go on with it with --part {}", part, part),
                {.file = file});
  }
  if (options_.part && plan != plan_.fingerprint()) {
    throw Error(ErrorKind::usage,
                "is a part of another list of runs: environments, methods, seeds or the files of environments have "
                "changed since, and with them which runs are in a part; undo the change, or begin all parts anew",
                {.file = file});
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
