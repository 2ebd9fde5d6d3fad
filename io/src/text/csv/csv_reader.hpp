/// CsvReader: the records of a delimited text file, one at a time, in constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/csv/csv_splitter.hpp"
#include "text/text_stream.hpp"

namespace scrm {

/// Lines that are whole records, to be split by whoever has time.
struct CsvLines {
  std::vector<char> text;  ///< `size` bytes, and what a splitter reads behind them
  std::size_t size = 0;
  std::int64_t first_line = 0;
};

/// Reads RFC 4180 text: quoted fields may hold delimiters, line breaks and doubled quotes; lines end in LF or CRLF, or
/// all of them in CR; a UTF-8 byte order mark is dropped; empty lines are passed over. The first record is the header.
/// Errors name file and line.
class CsvReader {
 public:
  /// Opens the file and reads its header: at least one name, none of them given twice, and only the first may be empty,
  /// as that of an index often is.
  /// `text` as of TextStream.
  CsvReader(std::string path, char delimiter, std::shared_ptr<const UnpackedText> text = nullptr);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  const std::string& path() const noexcept { return path_; }
  const std::vector<std::string>& header() const noexcept { return header_; }

  /// Goes to the next record; false at the end of the file.
  bool next();
  /// Takes the next lines without splitting them, `most` at most; false at the end of the file, and where they may not
  /// be whole records, because of quotes or of their length: next() reads those.
  bool take_lines(int most, CsvLines& out);
  /// The fields of the record, unquoted; valid until next(). They may be more or fewer than the header has.
  std::span<const std::string_view> fields() const noexcept { return splitter_.fields(); }
  /// The line on which the record begins, from 1.
  std::int64_t line() const noexcept { return splitter_.line(); }

  /// Bytes of the file that are behind us, compressed ones as they lie in it.
  std::int64_t bytes_done() const noexcept {
    return stream_.compressed() ? stream_.bytes_read() : bytes_before_ + (cursor_ - buffer_.data());
  }
  /// Size of the file; 0 for pipes, where it is not known.
  std::int64_t bytes_total() const noexcept { return stream_.bytes_total(); }
  bool compressed() const noexcept { return stream_.compressed(); }

 private:
  void find_line_ends();
  void read_header();
  void refill();
  /// Behind the next lines, `most` at most; the cursor itself where a line is too long.
  char* end_of_lines(int most);
  [[noreturn]] void fail(std::int64_t line, const std::string& what) const;

  std::string path_;
  TextStream stream_;
  CsvSplitter splitter_;
  bool at_end_ = false;            // the file has no more bytes than the buffer
  bool cr_lines_ = false;          // lines end in CR, which becomes LF as it is read
  std::int64_t bytes_before_ = 0;  // of the text, in front of the buffer

  std::vector<char> buffer_;
  char* cursor_ = nullptr;  // the next record
  char* end_ = nullptr;     // of what was read; a line break and padding follow
  std::int64_t next_line_ = 1;

  std::vector<std::string> header_;
};

}  // namespace scrm
