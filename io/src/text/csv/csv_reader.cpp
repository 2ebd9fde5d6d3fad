#include "text/csv/csv_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "text/csv/header_advice.hpp"
#include "text/text_file.hpp"

namespace scrm {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
// A record that does not fit is no record but a quote that was never closed.
constexpr std::size_t kLongestRecord = std::size_t{1} << 23;
// Lines that are longer are read record by record.
constexpr std::ptrdiff_t kLongestLines = 1 << 19;

}  // namespace

CsvReader::CsvReader(std::string path, char delimiter, std::shared_ptr<const UnpackedText> text)
    : path_(std::move(path)), stream_(path_, std::move(text)), splitter_(path_, delimiter) {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '\0')
    throw Error(ErrorKind::usage, "quotes and line breaks cannot delimit fields", {.file = path_});
  buffer_.resize(kBufferBytes + kCsvPadding);
  cursor_ = end_ = buffer_.data();
  find_line_ends();
  const std::string_view first(cursor_, static_cast<std::size_t>(end_ - cursor_));
  cursor_ += first.size() - text_behind_mark(path_, first).size();
  read_header();
}

void CsvReader::fail(std::int64_t line, const std::string& what) const {
  splitter_.fail(line, what);
}

/// Fills the buffer to the first line break. Old Macs ended lines in CR alone: a text that has these and not one LF
/// within a buffer.
void CsvReader::find_line_ends() {
  std::size_t size = 0;
  const char* break_at = nullptr;
  while (!at_end_ && break_at == nullptr && size + kCsvPadding < buffer_.size()) {
    refill();
    const std::size_t before = std::exchange(size, static_cast<std::size_t>(end_ - cursor_));
    break_at = static_cast<const char*>(std::memchr(cursor_ + before, '\n', size - before));
  }
  cr_lines_ = break_at == nullptr && std::memchr(cursor_, '\r', size) != nullptr;
  if (cr_lines_) std::replace(cursor_, end_, '\r', '\n');
}

void CsvReader::read_header() {
  if (!next()) fail(1, "the file is empty; its first line must name the columns");
  for (const std::string_view field : fields()) header_.emplace_back(trimmed(field));
  if (std::all_of(header_.begin(), header_.end(),
                  [](const std::string& name) { return parse_double(name).has_value(); }))
    fail(line(), no_header_advice(path_, header_.size()));
  std::map<std::string, std::size_t> seen;
  for (const std::string& name : header_) {
    const std::size_t position = seen.size() + 1;
    const auto [before, is_new] = seen.emplace(name, position);
    const bool wrong = !is_new || (name.empty() && position > 1);
    if (wrong && (looks_like_data(header_) || parse_double(name)))
      fail(line(), no_header_advice(path_, header_.size()));
    if (name.empty() && position > 1) fail(line(), fmt::format("column {} has no name", position));
    if (!is_new)
      fail(line(), fmt::format("the name '{}' is given to columns {} and {}; rename one of them", name, before->second,
                               position));
  }
}

void CsvReader::refill() {
  const auto kept = static_cast<std::size_t>(end_ - cursor_);
  bytes_before_ += cursor_ - buffer_.data();
  std::memmove(buffer_.data(), cursor_, kept);
  if (kept + kCsvPadding >= buffer_.size()) {
    if (buffer_.size() > kLongestRecord)
      fail(next_line_, "this record does not end within 8 MiB; is there a quote that was never closed?");
    buffer_.resize((buffer_.size() - kCsvPadding) * 2 + kCsvPadding);
  }
  cursor_ = buffer_.data();
  end_ = cursor_ + kept;
  const std::size_t got = stream_.read(end_, buffer_.size() - kCsvPadding - kept);
  at_end_ = got == 0;
  if (cr_lines_) std::replace(end_, end_ + got, '\r', '\n');
  end_ += got;
  std::memset(end_, '\n', kCsvPadding);
}

bool CsvReader::next() {
  for (;;) {
    CsvSplitter::skip_empty_lines(cursor_, end_, next_line_);
    if (cursor_ == end_ && at_end_) return false;
    if (cursor_ < end_ && splitter_.split(cursor_, end_, at_end_, next_line_) == CsvSplitter::Split::record)
      return true;
    refill();
  }
}

char* CsvReader::end_of_lines(int most) {
  // Where the text ends depends on the text alone, not on how a pipe hands it out.
  constexpr std::ptrdiff_t kEnough = 1 << 18;
  std::ptrdiff_t at = 0;
  for (int lines = 0; lines < most && at < kEnough;) {
    const auto left = static_cast<std::size_t>(end_ - cursor_ - at);
    const auto* found = static_cast<const char*>(std::memchr(cursor_ + at, '\n', left));
    if (found != nullptr) {
      at = found + 1 - cursor_;
      ++lines;
    } else if (at_end_) {
      return end_;
    } else if (end_ - cursor_ > kLongestLines) {
      return cursor_ + at;
    } else {
      refill();
    }
  }
  return cursor_ + at;
}

bool CsvReader::take_lines(int most, CsvLines& out) {
  char* const behind = end_of_lines(most);
  const auto size = static_cast<std::size_t>(behind - cursor_);
  if (size == 0 || std::memchr(cursor_, '"', size) != nullptr) return false;
  out.text.resize(size + kCsvPadding);
  std::memcpy(out.text.data(), cursor_, size);
  std::memset(out.text.data() + size, '\n', kCsvPadding);
  out.size = size;
  out.first_line = next_line_;
  next_line_ += std::count(cursor_, behind, '\n');
  cursor_ = behind;
  return true;
}

}  // namespace scrm
