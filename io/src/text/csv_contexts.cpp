#include "scrm/io/csv_contexts.hpp"

#include "scrm/io/shard_writer.hpp"
#include "text/csv_columns.hpp"
#include "text/csv_reader.hpp"
#include "text/csv_rows.hpp"

namespace scrm {

void import_csv_contexts(const std::string& file, const std::vector<std::string>& context, const std::string& shard,
                         const BytesProgress& progress, std::size_t memory) {
  CsvReader reader(file, ',');
  CsvColumns columns;
  columns.context = choose_context_columns(file, context, reader.header());
  columns.schema.stage = RowStage::contexts;
  columns.schema.features = static_cast<std::int64_t>(columns.context.size());
  require_block_fits(reader, columns.schema, {}, memory);
  CsvRows rows(columns, reader.header());
  ShardWriter writer(shard, columns.schema, {});
  bool good = true;
  while (reader.next()) {
    if (rows.full()) {
      const Block block = rows.take();
      if (good) writer.append(block);
      if (progress) progress(reader.bytes_done(), reader.bytes_total());
    }
    good = rows.add(reader.fields(), reader.line()) && good;
  }
  rows.require_no_bad_rows(file, false);
  writer.append(rows.take());
  writer.commit();
}

}  // namespace scrm
