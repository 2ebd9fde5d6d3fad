/// RunJournal: finished runs of a sweep, each on disk before anyone is told that it is finished.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scrm/io/archive/run_record.hpp"

namespace scrm {

/// What a journal holds.
struct JournalContents {
  std::string header_text;
  std::vector<RunRecord> records;  ///< in the order in which they were finished
  std::int64_t torn_bytes = 0;     ///< behind the last whole record: a write that a crash cut short
};

/// Reads a journal, also while it is being written. Empty when there is no such file; throws when it is not a journal.
/// Records end at the first that is not whole: what a process was writing when it was killed is never misread.
std::optional<JournalContents> read_journal(const std::string& path);

/// Appends to a journal, alone: a second RunJournal of the same file, here or in another process, throws.
class RunJournal {
 public:
  /// Creates the journal (it appears with its header complete), or opens one that exists, cuts off a torn tail and goes
  /// on behind its last whole record. Throws when its header is not `header_text`: it belongs to another sweep.
  RunJournal(const std::string& path, const std::string& header_text);
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  /// What the journal held when it was opened, read under its lock.
  const JournalContents& initial_contents() const noexcept;

  /// On disk when it returns. Any thread: those that come while the disk is busy share the next sync. Throws when the
  /// record cannot be written, and the file ends with its last whole record again; later appends may try anew, unless
  /// the disk failed to sync.
  void append(const RunRecord& record);

  /// Deletes the file: its runs are kept elsewhere by now. Nothing may be appended any more.
  void remove();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace scrm
