#include "scrm/io/import/csv_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "encoding/substitutions.hpp"
#include "import/shard_sequence.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/numbers.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/file/spelling.hpp"
#include "text/csv/column_lists.hpp"
#include "text/csv/csv_batches.hpp"
#include "text/csv/csv_columns.hpp"
#include "text/csv/csv_findings.hpp"
#include "text/csv/csv_reader.hpp"
#include "text/csv/csv_rows.hpp"

namespace scrm {
namespace {

/// The import with the names, ranges and prefixes in its lists one by one.
CsvImport with_split_lists(CsvImport import, const std::vector<std::string>& header) {
  for (std::vector<std::string>* lists :
       {&import.context, &import.action, &import.label_propensity, &import.categorical})
    *lists = split_column_lists(*lists, header);
  return import;
}

/// The import, with the columns of an encoding that is there in place of those that are not named.
CsvImport with_encoded_columns(CsvImport import, const std::optional<Encoding>& encoding) {
  if (!encoding || !import.context.empty()) return import;
  for (const EncodedColumn& column : encoding->columns) import.context.push_back(column.name);
  return import;
}

/// A recipe is used unchanged: what the import says besides must agree with it. Puts the columns into its order.
void follow_encoding(const CsvImport& import, const Encoding& encoding, const std::vector<std::string>& header,
                     CsvColumns& columns) {
  const auto fail = [&](const std::string& what) {
    fail_import(what + "; leave the option out, or give another --encoding to write a new one", import.encoding);
  };
  if (import.unseen && *import.unseen != encoding.unseen)
    fail(fmt::format("--unseen {} contradicts the encoding, which has {}", to_string(*import.unseen),
                     to_string(encoding.unseen)));
  if (import.impute && *import.impute != encoding.impute)
    fail(fmt::format("--impute {} contradicts the encoding, which has {}", to_string(*import.impute),
                     to_string(encoding.impute)));
  if (import.num_actions > 0 && encoding.num_actions > 0 && import.num_actions != encoding.num_actions)
    fail(fmt::format("--num-actions {} contradicts the encoding, which has {}", import.num_actions,
                     encoding.num_actions));
  std::set<std::string> categories;
  std::vector<std::size_t> ordered;
  for (const EncodedColumn& column : encoding.columns) {
    if (column.kind == ColumnKind::categorical) categories.insert(column.name);
    for (const std::size_t position : columns.context)
      if (header[position] == column.name) ordered.push_back(position);
    if (ordered.empty() || header[ordered.back()] != column.name)
      fail(fmt::format("the encoding has the column '{}', which --context lacks", column.name));
  }
  if (ordered.size() != columns.context.size())
    fail(fmt::format("--context has {}, the encoding {}", count_of(columns.context.size(), "column"), ordered.size()));
  for (const std::size_t position : columns.categorical)
    if (categories.count(header[position]) == 0 && encoding.actions.empty())
      fail(fmt::format("--categorical: '{}' is no category in the encoding", header[position]));
  columns.context = std::move(ordered);
}

/// Categories are counted from 0, so a stray huge number would make an absurd policy rather than a bad row.
int count_actions(const CsvImport& import, double largest) {
  constexpr double kMaxActions = 1e6;
  if (!(largest < kMaxActions))
    throw Error(ErrorKind::data,
                fmt::format("the largest action is {}; give --num-actions to say how many there are, or --categorical "
                            "with its column where these are names rather than numbers from 0 on",
                            largest),
                {.file = import.files.front()});
  return std::max(1, static_cast<int>(std::floor(largest)) + 1);
}

/// The actions of an encoding that is being made.
void learn_actions(const CsvImport& import, CsvFindings& findings, Encoding& encoding) {
  if (import.action_kind != ActionKind::categorical) return;
  encoding.actions = std::move(findings.action_names);
  encoding.num_actions = import.num_actions;
  if (encoding.actions.empty()) {
    if (import.num_actions == 0) encoding.num_actions = count_actions(import, findings.largest_action);
    return;
  }
  const auto names = static_cast<int>(encoding.actions.size());
  if (import.num_actions > 0 && import.num_actions != names)
    fail_import(
        fmt::format("--num-actions is {}, but there are {} names of actions; leave it out", import.num_actions, names));
  encoding.num_actions = names;
}

/// Whether the first record's action is no number, so that its names must be learned.
bool has_named_actions(const CsvImport& import, const CsvColumns& columns) {
  CsvReader reader(import.files.front(), import.delimiter);
  const std::size_t field = columns.action.front();
  return reader.next() && field < reader.fields().size() && !parse_double(reader.fields()[field]);
}

bool needs_scan(const CsvImport& import, const CsvColumns& columns, bool encoding_there, bool pipe) {
  if (import.shards > 1) return true;
  if (encoding_there) return false;
  if (!columns.categorical.empty() || import.impute.value_or(Impute::error) != Impute::error) return true;
  if (!import.encoding.empty()) return true;
  if (import.action_kind != ActionKind::categorical) return false;
  return import.num_actions == 0 || (!pipe && has_named_actions(import, columns));
}

/// Progress of one of `passes` readings of the files, as a share of all.
BytesProgress part_of(const BytesProgress& progress, int pass, int passes, std::int64_t total) {
  if (!progress) return {};
  return [&progress, pass, passes, total](std::int64_t done, std::int64_t) {
    progress(pass * total + done, passes * total);
  };
}

/// Bytes of all files; 0 where one is a pipe and they are not known.
std::int64_t bytes_of_all(const CsvImport& import, const CsvReader& first) {
  std::int64_t total = first.bytes_total();
  bool known = total > 0;
  for (std::size_t f = 1; f < import.files.size(); ++f) {
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(import.files[f], failed);
    // Known before the first file has been read, which may take long.
    if (failed && !std::filesystem::exists(import.files[f]))
      throw Error(ErrorKind::file, "cannot read: there is no such file", {.file = import.files[f]});
    known = known && !failed;
    total += failed ? 0 : static_cast<std::int64_t>(bytes);
  }
  return known ? total : 0;
}

/// An encoding of columns that are numbers or dates.
Encoding plain_encoding(const CsvColumns& columns, const std::vector<std::string>& header, int num_actions) {
  Encoding encoding;
  for (const std::size_t position : columns.context) encoding.columns.push_back({.name = header[position]});
  encoding.num_actions = num_actions;
  return encoding;
}

/// The encoding that was found, as the import asks for it.
Encoding learned_encoding(const CsvImport& import, CsvFindings& findings) {
  Encoding encoding;
  encoding.unseen = import.unseen.value_or(UnseenLevel::other);
  encoding.impute = import.impute.value_or(Impute::error);
  encoding.columns = std::move(findings.columns);
  learn_actions(import, findings, encoding);
  return encoding;
}

void complete_schema(const Encoding& encoding, Schema& schema) {
  schema.context_columns = feature_names(encoding);
  schema.features = static_cast<std::int64_t>(schema.context_columns.size());
  if (schema.action_kind == ActionKind::categorical) {
    schema.num_actions = encoding.num_actions;
    schema.action_names = encoding.actions;
  }
  schema.action_names = one_line_names(schema.action_names);
}

/// The records of all files on their way to shards.
class CsvImporter final : public CsvWork {
 public:
  /// `make_rows` makes empty rows like `rows`.
  CsvImporter(const CsvImport& import, CsvRows& rows, std::function<CsvRows()> make_rows, ShardSequence& shards)
      : import_(import), rows_(rows), make_rows_(std::move(make_rows)), shards_(shards) {}

  /// Reads to the end of the file. `slots`: as many blocks of rows fit beside each other.
  void read(CsvReader& reader, const CsvColumns& columns, std::size_t slots, const BytesProgress& progress) {
    begin_file_ = [&](CsvRows& rows) { rows.begin_file(reader.path(), columns, reader.header()); };
    begin_file_(rows_);
    // Where a shard ends is known record by record only.
    const bool whole = import_.shards <= 1 && import_.rows_per_shard == 0;
    read_records(reader, import_, whole ? slots : 0, *this, [&] {
      if (progress) progress(bytes_before_ + reader.bytes_done(), 0);
    });
    bytes_before_ += reader.bytes_total();
  }

  void finish() { flush(rows_); }

  void add(std::span<const std::string_view> fields, std::int64_t line) override {
    if (rows_.full() || (writing_ && shards_.ends_before(record_, rows_.rows()))) {
      flush(rows_);
      while (writing_ && shards_.ends_before(record_, 0)) shards_.start_next_shard();
    }
    // Once a bad row has made writing pointless, only counting is left.
    if (!rows_.add(fields, line) && !import_.skip_bad_rows) writing_ = false;
    ++record_;
  }
  bool ready() const override { return rows_.kinds_known(); }
  void start(std::size_t slots) override {
    while (slots_.size() < slots) {
      slots_.push_back(make_rows_());
      slots_.back().adopt_kinds(rows_);
    }
    for (CsvRows& slot : slots_) begin_file_(slot);
  }
  void add_to(std::size_t slot, std::span<const std::string_view> fields, std::int64_t line) override {
    slots_[slot].add(fields, line);
  }
  void merge(std::size_t slot) override {
    if (rows_.rows() > 0) flush(rows_);
    if (slots_[slot].bad() > 0 && !import_.skip_bad_rows) writing_ = false;
    rows_.absorb_counts(slots_[slot]);
    flush(slots_[slot]);
  }

 private:
  void flush(CsvRows& rows) {
    const Block block = rows.take();
    if (writing_) shards_.append(block);
  }

  const CsvImport& import_;
  CsvRows& rows_;
  std::function<CsvRows()> make_rows_;
  ShardSequence& shards_;
  std::function<void(CsvRows&)> begin_file_;
  std::deque<CsvRows> slots_;
  std::int64_t record_ = 0;
  std::int64_t bytes_before_ = 0;
  bool writing_ = true;
};

using Texts = std::vector<std::shared_ptr<const UnpackedText>>;

/// The texts of compressed files, as far as they fit into a twentieth of the memory; null for the others.
Texts unpack_files(const CsvImport& import) {
  constexpr std::size_t kShare = 20, kUnlimited = std::size_t{1} << 28;
  std::size_t left = import.memory == 0 ? kUnlimited : import.memory / kShare;
  Texts texts;
  for (const std::string& file : import.files) {
    texts.push_back(unpack_whole(file, left));
    if (texts.back()) left -= texts.back()->size;
  }
  return texts;
}

/// Reads all files, the first of which has been opened.
void read_files(const CsvImport& import, CsvReader& first, const CsvColumns& columns, const Texts& texts,
                CsvImporter& importer, const BytesProgress& progress) {
  const std::size_t slots = csv_slots(import, block_buffer_bytes(columns.schema));
  importer.read(first, columns, slots, progress);
  for (std::size_t f = 1; f < import.files.size(); ++f) {
    CsvReader reader(import.files[f], import.delimiter, texts[f]);
    importer.read(reader, match_columns(import, columns, first.header(), reader.path(), reader.header()), slots,
                  progress);
  }
  importer.finish();
}

}  // namespace

ImportResult import_csv(const CsvImport& asked, const BytesProgress& progress) {
  check_output(asked);
  if (asked.files.empty()) fail_import("name the file to import");
  require_distinct(asked.files);
  const bool encoding_there = !asked.encoding.empty() && std::filesystem::exists(asked.encoding);
  std::optional<Encoding> known;
  if (encoding_there) known = read_encoding(asked.encoding, asked.memory);
  const Texts texts = unpack_files(asked);
  CsvReader first(asked.files.front(), asked.delimiter, texts.front());
  const CsvImport import = with_encoded_columns(with_split_lists(asked, first.header()), known);
  CsvColumns columns = choose_columns(import, first.path(), first.header());
  if (known) follow_encoding(import, *known, first.header(), columns);
  const std::int64_t bytes = bytes_of_all(import, first);
  const bool scans = needs_scan(import, columns, encoding_there, first.bytes_total() == 0);
  if (scans && bytes == 0)
    fail_import(
        "a pipe can be read only once: leave out --shards (--rows-per-shard is fine), give --num-actions, and learn an "
        "encoding from a file",
        first.path());
  CsvFindings findings;
  if (scans) findings = scan_records(import, columns, first.header(), texts, part_of(progress, 0, 2, bytes));

  const bool writes_encoding = !import.encoding.empty() && !known;
  if (writes_encoding && findings.records == 0)
    throw Error(ErrorKind::data,
                fmt::format("there are no rows that {} could be learned from; leave out --encoding, or import a file "
                            "with rows first",
                            import.encoding),
                {.file = first.path()});

  const EncodingOrigin origin = known ? EncodingOrigin::file : scans ? EncodingOrigin::learned : EncodingOrigin::plain;
  Encoding encoding = known   ? *known
                      : scans ? learned_encoding(import, findings)
                              : plain_encoding(columns, first.header(), import.num_actions);
  if (encoding.num_actions == 0) encoding.num_actions = import.num_actions;
  complete_schema(encoding, columns.schema);
  require_block_fits(first, columns.schema, import.write, import.memory);
  // A folder that cannot be written is known before the work, not after it.
  if (writes_encoding) AtomicFile(import.encoding);

  CsvRows rows(columns.schema, encoding, origin);
  ShardSequence shards(import, columns.schema, findings.records);
  CsvImporter importer(
      import, rows, [&] { return CsvRows(columns.schema, encoding, origin); }, shards);
  read_files(import, first, columns, texts, importer, part_of(progress, scans ? 1 : 0, scans ? 2 : 1, bytes));
  if (!import.skip_bad_rows) rows.require_no_bad_rows(true);
  if (writes_encoding) write_text_file(import.encoding, encoding_text(encoding));
  shards.commit();

  ImportResult result;
  result.rows = shards.rows();
  result.shards = shards.count();
  result.schema = columns.schema;
  result.bad_records = rows.bad_records();
  result.bad_rows = rows.bad_rows();
  const Substitutions substituted = total(rows.substitutions());
  result.filled_holes = substituted.holes;
  result.other_levels = substituted.other_levels;
  result.warnings = leak_warnings(columns, first.header());
  for (std::string& warning : substitution_warnings(encoding, rows.substitutions(), result.rows))
    result.warnings.push_back(std::move(warning));
  for (std::string& warning : rows.date_warnings(encoding)) result.warnings.push_back(std::move(warning));
  // An encoding knows the actions of other files too.
  if (const std::string warning =
          unlogged_numbers_warning(shards.action_counts(), columns.schema, import.num_actions > 0);
      !known && !warning.empty())
    result.warnings.push_back(warning);
  result.encoding_written = writes_encoding;
  return result;
}

}  // namespace scrm
