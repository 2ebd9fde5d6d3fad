/// The file under a journal: its frames, and how it is made, locked and read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "file/descriptor.hpp"
#include "scrm/io/archive/run_journal.hpp"

namespace scrm {

/// Everything of a journal, and where its last whole record ends.
struct ParsedJournal {
  JournalContents contents;
  std::int64_t whole_bytes = 0;
};

/// The beginning of a journal.
std::string journal_header(const std::string& header_text);
/// A record as it stands in the file: length, CRC-32 over length and content, content.
std::string journal_frame(const RunRecord& record);
/// Throws when `bytes` do not begin with a whole header of ours; `path` is for messages.
ParsedJournal parse_journal(const std::string& path, std::string_view bytes);

/// All bytes of an open file. Throws when it is no regular file.
std::string read_whole_file(const std::string& path, const Descriptor& file);
/// Opens the journal for reading and writing and locks it. A new one is locked before it has a name, and one that
/// exists is never replaced: of two processes that begin at once, one gets the journal and the other the error.
Descriptor open_locked_journal(const std::string& path, const std::string& header_text);

}  // namespace scrm
