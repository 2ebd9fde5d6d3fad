#include "text/csv/csv_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "text/text_file.hpp"

namespace scrm {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
// A record that does not fit is no record but a quote that was never closed.
constexpr std::size_t kLongestRecord = std::size_t{1} << 23;
// Columns of a file; a line without an end has more.
constexpr std::size_t kMostFields = std::size_t{1} << 18;
// Fields are searched eight bytes at a time, so that many bytes past the end must be readable.
constexpr std::size_t kPadding = 8;

/// The first delimiter or line break from `at` on; there is always one, since a line break follows the last byte.
inline char* find_end(char* at, char delimiter) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  const std::uint64_t delimiters = kOnes * static_cast<unsigned char>(delimiter);
  constexpr std::uint64_t kBreaks = kOnes * static_cast<unsigned char>('\n');
  if constexpr (std::endian::native == std::endian::little) {
    for (;; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, at, sizeof word);
      // A byte that matches becomes zero, and the lowest zero byte is the lowest one whose high bit appears here.
      const std::uint64_t a = word ^ delimiters;
      const std::uint64_t b = word ^ kBreaks;
      const std::uint64_t hits = (((a - kOnes) & ~a) | ((b - kOnes) & ~b)) & kHighs;
      if (hits != 0) return at + std::countr_zero(hits) / 8;
    }
  }
  while (*at != delimiter && *at != '\n') ++at;
  return at;
}

}  // namespace

CsvReader::CsvReader(std::string path, char delimiter) : path_(std::move(path)), delimiter_(delimiter), stream_(path_) {
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || delimiter == '\0')
    throw Error(ErrorKind::usage, "quotes and line breaks cannot delimit fields", {.file = path_});
  buffer_.resize(kBufferBytes + kPadding);
  cursor_ = end_ = buffer_.data();
  refill();
  const std::string_view first(cursor_, static_cast<std::size_t>(end_ - cursor_));
  cursor_ += first.size() - text_behind_mark(path_, first).size();
  read_header();
}

void CsvReader::fail(std::int64_t line, const std::string& what) const {
  throw Error(ErrorKind::data, fmt::format("line {}: {}", line, what), {.file = path_});
}

void CsvReader::read_header() {
  if (!next()) fail(1, "the file is empty; its first line must name the columns");
  std::map<std::string, std::size_t> seen;
  std::size_t numbers = 0;
  for (const std::string_view field : fields()) {
    const std::string name(trimmed(field));
    const std::size_t position = header_.size() + 1;
    if (parse_double(name)) ++numbers;
    if (name.empty() && position > 1) fail(line_, fmt::format("column {} has no name", position));
    const auto [before, is_new] = seen.emplace(name, position);
    if (!is_new)
      fail(line_, fmt::format("the name '{}' is given to columns {} and {}; rename one of them", name, before->second,
                              position));
    header_.push_back(name);
  }
  if (numbers == header_.size()) fail(line_, "these are numbers, not names; the first line must name the columns");
}

void CsvReader::refill() {
  const auto kept = static_cast<std::size_t>(end_ - cursor_);
  bytes_before_ += cursor_ - buffer_.data();
  std::memmove(buffer_.data(), cursor_, kept);
  if (kept + kPadding >= buffer_.size()) {
    if (buffer_.size() > kLongestRecord)
      fail(next_line_, "this record does not end within 8 MiB; is there a quote that was never closed?");
    buffer_.resize((buffer_.size() - kPadding) * 2 + kPadding);
  }
  cursor_ = buffer_.data();
  end_ = cursor_ + kept;
  const std::size_t got = stream_.read(end_, buffer_.size() - kPadding - kept);
  at_end_ = got == 0;
  end_ += got;
  std::memset(end_, '\n', kPadding);
}

bool CsvReader::next() {
  for (;;) {
    while (cursor_ < end_ && (*cursor_ == '\n' || (*cursor_ == '\r' && cursor_ + 1 < end_ && cursor_[1] == '\n'))) {
      next_line_ += *cursor_ == '\n' ? 1 : 0;
      ++cursor_;
    }
    if (cursor_ == end_ && at_end_) return false;
    if (cursor_ < end_ && split() == Split::record) return true;
    refill();
  }
}

inline void CsvReader::add_field(const char* begin, const char* end) {
  if (count_ == fields_.size()) {
    if (count_ == kMostFields)
      fail(next_line_, fmt::format("has more than {} fields; is this a CSV file?", kMostFields));
    fields_.emplace_back();
  }
  fields_[count_++] = std::string_view(begin, static_cast<std::size_t>(end - begin));
}

CsvReader::Split CsvReader::split_quoted(char*& at) {
  char* const begin = at + 1;
  char* from = begin;
  bool doubled = false;
  for (;;) {
    auto* quote = static_cast<char*>(std::memchr(from, '"', static_cast<std::size_t>(end_ - from)));
    if (quote == nullptr) {
      if (at_end_) fail(next_line_ + breaks_, "a quote is opened and never closed");
      return Split::needs_more;
    }
    // Only the next byte tells the end of the field from a doubled quote.
    if (quote + 1 == end_ && !at_end_) return Split::needs_more;
    if (quote + 1 < end_ && quote[1] == '"') {
      doubled = true;
      from = quote + 2;
      continue;
    }
    if (doubled) escaped_.push_back(count_);
    breaks_ += std::count(begin, quote, '\n');
    add_field(begin, quote);
    at = quote + 1;
    return Split::record;
  }
}

CsvReader::Split CsvReader::split() {
  count_ = 0;
  breaks_ = 0;
  escaped_.clear();
  char* at = cursor_;
  for (;;) {
    if (at < end_ && *at == '"') {
      if (split_quoted(at) == Split::needs_more) return Split::needs_more;
      if (at[0] == '\r' && at + 1 <= end_ && at[1] == '\n') ++at;
      if (*at != delimiter_ && *at != '\n')
        fail(next_line_ + breaks_, "text follows a closing quote; quotes inside a quoted field are written twice");
    } else {
      char* const begin = at;
      at = find_end(at, delimiter_);
      const bool carriage = *at == '\n' && at > begin && at[-1] == '\r';
      add_field(begin, carriage ? at - 1 : at);
    }
    if (*at == delimiter_ && at < end_) {
      ++at;
      continue;
    }
    if (at >= end_ && !at_end_) return Split::needs_more;
    break;
  }
  cursor_ = std::min(at + 1, end_);
  line_ = next_line_;
  next_line_ += 1 + breaks_;
  if (!escaped_.empty()) unescape();
  return Split::record;
}

void CsvReader::unescape() {
  for (const std::size_t index : escaped_) {
    const std::string_view field = fields_[index];
    char* const begin = buffer_.data() + (field.data() - buffer_.data());
    char* out = begin;
    for (std::size_t i = 0; i < field.size(); ++i) {
      *out++ = field[i];
      if (field[i] == '"') ++i;
    }
    fields_[index] = std::string_view(begin, static_cast<std::size_t>(out - begin));
  }
}

}  // namespace scrm
