#include "labelled/labelled_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/spelling.hpp"
#include "text/class_names.hpp"
#include "text/csv/column_lists.hpp"
#include "text/csv/csv_columns.hpp"
#include "text/csv/csv_reader.hpp"
#include "text/csv/header_advice.hpp"
#include "text/text_file.hpp"

namespace scrm {
namespace {

std::size_t class_column(const CsvReader& reader, const std::string& name) {
  const std::vector<std::string>& header = reader.header();
  const auto at = std::find(header.begin(), header.end(), name);
  if (at == header.end()) {
    const std::string advice = header_advice(reader.path(), header, name, false);
    throw Error(ErrorKind::usage,
                fmt::format("there is no column '{}' for the class; {}", name,
                            advice.empty() ? suggestion(name, header) : advice),
                {.file = reader.path()});
  }
  return static_cast<std::size_t>(at - header.begin());
}

std::vector<std::size_t> feature_columns(const CsvReader& reader, std::size_t category,
                                         const std::vector<std::string>& patterns) {
  std::vector<std::size_t> columns(reader.header().size());
  std::iota(columns.begin(), columns.end(), 0);
  if (!patterns.empty())
    columns =
        expand_columns("--context", reader.path(), split_column_lists(patterns, reader.header()), reader.header());
  columns.erase(std::remove(columns.begin(), columns.end(), category), columns.end());
  return columns;
}

double read_number(const CsvReader& reader, std::size_t column) {
  const std::string_view text = reader.fields()[column];
  const std::optional<double> number = parse_double(text);
  if (number && std::isfinite(*number)) return *number;
  const std::string what =
      text.empty()
          ? "is missing; fill it in, or remove the row"
          : fmt::format("is '{}', which is not a number; name the features with --context, without this column",
                        excerpt(text));
  throw Error(ErrorKind::data, fmt::format("line {}: column '{}' {}", reader.line(), reader.header()[column], what),
              {.file = reader.path()});
}

}  // namespace

LabelledData read_labelled_csv(const std::string& path, const LabelledOptions& options, std::size_t max_bytes) {
  CsvReader reader(path, options.delimiter);
  const std::size_t category = class_column(reader, options.class_name);
  const std::vector<std::size_t> features = feature_columns(reader, category, options.context);
  LabelledData data;
  data.name = std::filesystem::path(path).stem().string();
  data.multiclass = true;
  data.features = static_cast<std::int64_t>(features.size());
  ClassNames names;
  const auto fail = [&](ErrorKind kind, const std::string& what) {
    throw Error(kind, fmt::format("line {}: {}", reader.line(), what), {.file = path});
  };
  while (reader.next()) {
    if (reader.fields().size() != reader.header().size())
      fail(ErrorKind::data, fmt::format("has {}, but the header has {}", count_of(reader.fields().size(), "field"),
                                        reader.header().size()));
    // What is held counts too: of a compressed file only its own bytes are known.
    const std::size_t held = data.context.size() * sizeof(double);
    if (max_bytes > 0 && std::max(static_cast<std::size_t>(reader.bytes_done()), held) > max_bytes)
      fail(ErrorKind::memory, "there is more text than fits into memory; give a larger --memory");
    const std::string_view text = reader.fields()[category];
    if (text.empty()) fail(ErrorKind::data, fmt::format("column '{}', the class, is empty", options.class_name));
    names.append(text, data);
    for (const std::size_t column : features) data.context.push_back(read_number(reader, column));
    ++data.rows;
  }
  if (data.rows == 0) throw Error(ErrorKind::data, "has no rows below its header", {.file = path});
  names.finish(data);
  return data;
}

}  // namespace scrm
