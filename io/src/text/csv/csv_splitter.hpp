/// CsvSplitter: the fields of CSV records that lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scrm {

/// Line breaks that must be readable behind a text that is split, since fields are searched many bytes at a time.
inline constexpr std::size_t kCsvPadding = 8;

/// Splits one record after another. Errors name the file and the line.
class CsvSplitter {
 public:
  enum class Split { record, needs_more };

  /// The path must outlive the splitter.
  CsvSplitter(const std::string& path, char delimiter) noexcept : path_(&path), delimiter_(delimiter) {}

  /// Passes over empty lines from the cursor on, which counts them.
  static void skip_empty_lines(char*& cursor, const char* end, std::int64_t& next_line) noexcept;

  /// Splits the record at the cursor, which begins on `next_line`, and moves both behind it. `at_end`: nothing follows
  /// the text, so that a record may end with it; else a record that is not whole needs more, and nothing has moved.
  /// Doubled quotes are unescaped where they stand.
  Split split(char*& cursor, char* end, bool at_end, std::int64_t& next_line);

  /// The fields of the record, unquoted; valid as long as its text. They may be more or fewer than the header has.
  std::span<const std::string_view> fields() const noexcept { return {fields_.data(), count_}; }
  /// The line on which the record begins, from 1.
  std::int64_t line() const noexcept { return line_; }

  /// Throws an Error about a line of the file.
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const;

 private:
  /// Splits a quoted field that begins at `at`; leaves `at` behind its closing quote.
  Split split_quoted(char*& at, char* end, bool at_end);
  void add_field(const char* begin, const char* end);
  void unescape(char* text);

  const std::string* path_;
  char delimiter_;
  std::int64_t line_ = 0;
  std::int64_t breaks_ = 0;  // line breaks inside the quotes of this record
  std::vector<std::string_view> fields_;
  std::size_t count_ = 0;
  std::vector<std::size_t> escaped_;  // fields with doubled quotes
};

}  // namespace scrm
