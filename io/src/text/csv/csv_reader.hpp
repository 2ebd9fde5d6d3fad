/// CsvReader: the records of a delimited text file, one at a time, in constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/text_stream.hpp"

namespace scrm {

/// Reads RFC 4180 text: quoted fields may hold delimiters, line breaks and doubled quotes; lines end in LF or CRLF; a
/// UTF-8 byte order mark is dropped; empty lines are passed over. The first record is the header. Errors name file and
/// line.
class CsvReader {
 public:
  /// Opens the file and reads its header: at least one name, none of them given twice, and only the first may be empty,
  /// as that of an index often is.
  CsvReader(std::string path, char delimiter);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  const std::string& path() const noexcept { return path_; }
  const std::vector<std::string>& header() const noexcept { return header_; }

  /// Goes to the next record; false at the end of the file.
  bool next();
  /// The fields of the record, unquoted; valid until next(). They may be more or fewer than the header has.
  std::span<const std::string_view> fields() const noexcept { return {fields_.data(), count_}; }
  /// The line on which the record begins, from 1.
  std::int64_t line() const noexcept { return line_; }

  /// Bytes of the file that are behind us, compressed ones as they lie in it.
  std::int64_t bytes_done() const noexcept {
    return stream_.compressed() ? stream_.bytes_read() : bytes_before_ + (cursor_ - buffer_.data());
  }
  /// Size of the file; 0 for pipes, where it is not known.
  std::int64_t bytes_total() const noexcept { return stream_.bytes_total(); }
  bool compressed() const noexcept { return stream_.compressed(); }

 private:
  enum class Split { record, needs_more };

  void read_header();
  Split split();
  /// Splits a quoted field that begins at `at`; leaves `at` behind its closing quote.
  Split split_quoted(char*& at);
  void add_field(const char* begin, const char* end);
  void unescape();
  void refill();
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const;

  std::string path_;
  char delimiter_;
  TextStream stream_;
  bool at_end_ = false;            // the file has no more bytes than the buffer
  std::int64_t bytes_before_ = 0;  // of the text, in front of the buffer

  std::vector<char> buffer_;
  char* cursor_ = nullptr;  // the next record
  char* end_ = nullptr;     // of what was read; a line break and padding follow
  std::int64_t line_ = 0;
  std::int64_t next_line_ = 1;
  std::int64_t breaks_ = 0;  // line breaks inside the quotes of this record

  std::vector<std::string> header_;
  std::vector<std::string_view> fields_;
  std::size_t count_ = 0;
  std::vector<std::size_t> escaped_;  // fields with doubled quotes
};

}  // namespace scrm
