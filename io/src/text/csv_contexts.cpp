#include "scrm/io/csv_contexts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string_view>

#include "scrm/io/block_buffer.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/shard_writer.hpp"
#include "text/csv_columns.hpp"
#include "text/csv_reader.hpp"

namespace scrm {
namespace {

/// What is wrong with a record, or nothing; its numbers go to row `row` of the context.
std::string read_record(const CsvReader& reader, const std::vector<std::size_t>& columns, int row, double* context) {
  const std::span<const std::string_view> fields = reader.fields();
  if (fields.size() != reader.header().size())
    return fmt::format("line {}: {} fields where the header has {}", reader.line(), fields.size(),
                       reader.header().size());
  for (std::size_t j = 0; j < columns.size(); ++j) {
    double& value = context[j * kBlockRows + static_cast<std::size_t>(row)];
    const std::string_view text = fields[columns[j]];
    const bool number = parse_number(text, value);
    if (number && std::isfinite(value)) continue;
    value = 0;  // the rows of a block are finite, whatever becomes of them
    return fmt::format("line {}, column '{}': '{}' is not {}", reader.line(), reader.header()[columns[j]],
                       text.substr(0, 40), number ? "finite" : "a number");
  }
  return "";
}

}  // namespace

void import_csv_contexts(const std::string& file, const std::vector<std::string>& columns, const std::string& shard,
                         const BytesProgress& progress) {
  CsvReader reader(file, ',');
  const std::vector<std::size_t> fields = choose_context_columns(file, columns, reader.header());
  Schema schema;
  schema.stage = RowStage::contexts;
  schema.features = static_cast<std::int64_t>(fields.size());
  ShardWriter writer(shard, schema, {});
  BlockBuffer buffer(schema);
  std::string first_error;
  std::int64_t bad = 0;
  int rows = 0;
  while (reader.next()) {
    if (rows == kBlockRows) {
      if (bad == 0) writer.append(buffer.view(0, rows));
      if (progress) progress(reader.bytes_done(), reader.bytes_total());
      rows = 0;
    }
    std::string error = read_record(reader, fields, rows, buffer.context_f64());
    ++rows;
    if (error.empty()) continue;
    if (++bad == 1) first_error = std::move(error);
  }
  if (bad > 0)
    throw Error(ErrorKind::data, fmt::format("{} ({} bad row{} in all)", first_error, bad, bad == 1 ? "" : "s"),
                {.file = file});
  writer.append(buffer.view(0, rows));
  writer.commit();
}

}  // namespace scrm
