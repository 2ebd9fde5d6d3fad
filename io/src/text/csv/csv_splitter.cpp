#include "text/csv/csv_splitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// Columns of a file; a line without an end has more.
constexpr std::size_t kMostFields = std::size_t{1} << 18;

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

void CsvSplitter::fail(std::int64_t line, const std::string& what) const {
  throw Error(ErrorKind::data, fmt::format("line {}: {}", line, what), {.file = *path_});
}

void CsvSplitter::skip_empty_lines(char*& cursor, const char* end, std::int64_t& next_line) noexcept {
  while (cursor < end && (*cursor == '\n' || (*cursor == '\r' && cursor + 1 < end && cursor[1] == '\n'))) {
    next_line += *cursor == '\n' ? 1 : 0;
    ++cursor;
  }
}

inline void CsvSplitter::add_field(const char* begin, const char* end) {
  if (count_ == fields_.size()) {
    if (count_ == kMostFields) fail(line_, fmt::format("has more than {} fields; is this a CSV file?", kMostFields));
    fields_.emplace_back();
  }
  fields_[count_++] = std::string_view(begin, static_cast<std::size_t>(end - begin));
}

CsvSplitter::Split CsvSplitter::split_quoted(char*& at, char* const end, bool at_end) {
  char* const begin = at + 1;
  char* from = begin;
  bool doubled = false;
  for (;;) {
    auto* quote = static_cast<char*>(std::memchr(from, '"', static_cast<std::size_t>(end - from)));
    if (quote == nullptr) {
      if (at_end) fail(line_ + breaks_, "a quote is opened and never closed");
      return Split::needs_more;
    }
    // Only the next byte tells the end of the field from a doubled quote.
    if (quote + 1 == end && !at_end) return Split::needs_more;
    if (quote + 1 < end && quote[1] == '"') {
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

CsvSplitter::Split CsvSplitter::split(char*& cursor, char* const end, bool at_end, std::int64_t& next_line) {
  line_ = next_line;
  count_ = 0;
  breaks_ = 0;
  escaped_.clear();
  char* at = cursor;
  for (;;) {
    if (at < end && *at == '"') {
      if (split_quoted(at, end, at_end) == Split::needs_more) return Split::needs_more;
      if (at[0] == '\r' && at + 1 <= end && at[1] == '\n') ++at;
      if (*at != delimiter_ && *at != '\n')
        fail(line_ + breaks_, "text follows a closing quote; quotes inside a quoted field are written twice");
    } else {
      char* const begin = at;
      at = find_end(at, delimiter_);
      const bool carriage = *at == '\n' && at > begin && at[-1] == '\r';
      add_field(begin, carriage ? at - 1 : at);
    }
    if (*at == delimiter_ && at < end) {
      ++at;
      continue;
    }
    if (at >= end && !at_end) return Split::needs_more;
    break;
  }
  if (!escaped_.empty()) unescape(cursor);
  cursor = std::min(at + 1, end);
  next_line += 1 + breaks_;
  return Split::record;
}

void CsvSplitter::unescape(char* text) {
  for (const std::size_t index : escaped_) {
    const std::string_view field = fields_[index];
    char* const begin = text + (field.data() - text);
    char* out = begin;
    for (std::size_t i = 0; i < field.size(); ++i) {
      *out++ = field[i];
      if (field[i] == '"') ++i;
    }
    fields_[index] = std::string_view(begin, static_cast<std::size_t>(out - begin));
  }
}

}  // namespace scrm
