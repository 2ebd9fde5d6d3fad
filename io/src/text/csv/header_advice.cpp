#include "text/csv/header_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "encoding/iso_date.hpp"
#include "file/text.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/import/csv_contexts.hpp"
#include "text/csv/csv_splitter.hpp"
#include "text/text_file.hpp"
#include "text/text_stream.hpp"

namespace scrm {
namespace {

using Record = std::vector<std::string>;

constexpr std::size_t kSampleBytes = std::size_t{1} << 16;
constexpr std::size_t kSampleRecords = 20;

/// The first bytes of the text; none where they cannot be had a second time.
std::string sample_of(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return "";
  std::string bytes(kSampleBytes, '\0');
  std::size_t size = 0;
  TextStream stream(file);
  while (size < bytes.size()) {
    const std::size_t got = stream.read(bytes.data() + size, bytes.size() - size);
    if (got == 0) break;
    size += got;
  }
  bytes.resize(size);
  std::string text(text_behind_mark(file, bytes));
  // As the reader has it; a line that the sample cuts is none.
  if (text.find('\n') == std::string::npos) std::replace(text.begin(), text.end(), '\r', '\n');
  if (size == kSampleBytes) text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  return text;
}

/// The first records; none where they cannot be split.
std::vector<Record> records_of(const std::string& file, std::string text, char delimiter) {
  std::vector<Record> records;
  const std::size_t size = text.size();
  text.append(kCsvPadding, '\n');
  CsvSplitter splitter(file, delimiter);
  char *cursor = text.data(), *const end = cursor + size;
  std::int64_t line = 1;
  try {
    for (;;) {
      CsvSplitter::skip_empty_lines(cursor, end, line);
      if (cursor >= end || records.size() == kSampleRecords) return records;
      splitter.split(cursor, end, true, line);
      Record& record = records.emplace_back();
      for (const std::string_view field : splitter.fields()) record.emplace_back(trimmed(field));
    }
  } catch (const Error&) {
    return {};
  }
}

bool alike(const std::vector<Record>& records) {
  return std::all_of(records.begin(), records.end(),
                     [&](const Record& record) { return record.size() == records.front().size(); });
}

/// Another delimiter that splits the first line so that the name is there, or all first lines alike where this one does
/// not.
std::optional<char> better_delimiter(const std::string& file, const std::vector<std::string>& header,
                                     std::string_view name, bool prefix) {
  constexpr std::array<char, 4> kDelimiters = {';', '\t', '|', ','};
  const std::string sample = sample_of(file);
  std::vector<std::pair<char, std::vector<Record>>> others;
  bool splits_badly = header.size() == 1;
  for (const char delimiter : kDelimiters) {
    std::vector<Record> records = records_of(file, sample, delimiter);
    if (records.empty()) continue;
    if (records.front() == header)
      splits_badly = splits_badly || !alike(records);
    else if (records.front().size() > 1)
      others.emplace_back(delimiter, std::move(records));
  }
  for (const auto& [delimiter, records] : others) {
    const bool has_name = std::any_of(records.front().begin(), records.front().end(), [&](const std::string& column) {
      return prefix ? !name.empty() && column.starts_with(name) : column == name;
    });
    if (alike(records) ? has_name || splits_badly : has_name && splits_badly) return delimiter;
  }
  // A file that is split at the wrong character has one column, whose name has the right one in it.
  for (const char delimiter : kDelimiters)
    if (header.size() == 1 && header[0].find(delimiter) != std::string::npos) return delimiter;
  return std::nullopt;
}

/// ", for instance with" the command that makes one file of another; empty where it would not work on this one.
std::string example(const std::string& file, const char* command, const char* result) {
  if (file.ends_with(".gz") || file.starts_with("/dev/")) return "";
  return fmt::format(", for instance with `{} {} > {}`", command, shell_word(file), result);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Where the header has a byte that is not UTF-8; empty where it has none.
std::string foreign_byte(const std::vector<std::string>& header) {
  for (std::size_t column = 0; column < header.size(); ++column) {
    const std::string clean = sanitize_utf8(header[column]);
    const auto byte = std::mismatch(header[column].begin(), header[column].end(), clean.begin(), clean.end()).first;
    if (byte == header[column].end()) continue;
    return fmt::format("line 1 is not UTF-8 text: byte {} of the name of column {} is 0x{:02X}",
                       byte - header[column].begin() + 1, column + 1, static_cast<unsigned char>(*byte));
  }
  return "";
}

}  // namespace

bool looks_like_data(const std::vector<std::string>& header) {
  const auto values = std::count_if(header.begin(), header.end(), [](const std::string& field) {
    return parse_double(field) || parse_iso_date(field);
  });
  return values > 0 && 2 * static_cast<std::size_t>(values) >= header.size();
}

std::string no_header_advice(const std::string& file, std::size_t columns) {
  return fmt::format("the first line looks like data, not names; put a line above it that names {}{}",
                     columns == 1 ? "the column" : fmt::format("the {} columns", columns),
                     example(file, "sed '1i NAME,NAME,...'", "named.csv"));
}

std::string header_advice(const std::string& file, const std::vector<std::string>& header, std::string_view name,
                          bool prefix) {
  if (const std::string byte = foreign_byte(header); !byte.empty() && !is_ascii(name))
    return fmt::format("{}; convert the file to UTF-8{}", byte, example(file, "iconv -f latin1 -t utf-8", "utf8.csv"));
  if (const std::optional<char> delimiter = better_delimiter(file, header, name, prefix))
    return fmt::format("{}; give --delimiter {}",
                       header.size() == 1 ? "there is one column alone" : "another character parts the fields",
                       *delimiter == '\t' ? "tab" : shell_word(std::string(1, *delimiter)));
  if (looks_like_data(header)) return no_header_advice(file, header.size());
  for (const std::string& column : header)
    if (!prefix && column.find(',') != std::string::npos &&
        (',' + column + ',').find(fmt::format(",{},", name)) != std::string::npos)
      return fmt::format("in a list, a name with a comma stands in double quotes, as in {}",
                         shell_word(csv_field(column) + ",..."));
  return "";
}

}  // namespace scrm
