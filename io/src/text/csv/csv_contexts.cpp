#include "scrm/io/import/csv_contexts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "file/descriptor.hpp"
#include "file/fields.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/shard_writer.hpp"
#include "text/csv/column_lists.hpp"
#include "text/csv/csv_columns.hpp"
#include "text/csv/csv_reader.hpp"
#include "text/csv/csv_rows.hpp"

namespace scrm {

// A member of KeptColumns::Impl, so not in the unnamed namespace.
struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using FilePtr = std::unique_ptr<std::FILE, CloseFile>;

namespace {

[[noreturn]] void fail_file(const std::string& path, const char* what) {
  throw Error(ErrorKind::file, fmt::format("{}: {}", what, reason_of(errno)), {.file = path});
}

FilePtr open_file(const std::string& path, const char* mode) {
  FilePtr file(std::fopen(path.c_str(), mode));
  if (!file) fail_file(path, "cannot open");
  return file;
}

void add_field(std::string& line, std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos;
  if (plain) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

/// Rows as texts, each behind its length: fields may hold line breaks.
class KeptWriter {
 public:
  KeptWriter(const std::string& path, std::vector<std::size_t> fields)
      : path_(path), fields_(std::move(fields)), file_(open_file(path, "wb")) {}

  void add(std::span<const std::string_view> record) {
    line_.clear();
    for (const std::size_t field : fields_) {
      if (field < record.size()) add_field(line_, record[field]);
      line_ += ',';
    }
    length_.clear();
    put_u32(length_, static_cast<std::uint32_t>(line_.size()));
    write(length_);
    write(line_);
  }

  void close() {
    if (std::fclose(file_.release()) != 0) fail_file(path_, "cannot write");
  }

 private:
  void write(const std::string& bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail_file(path_, "cannot write");
  }

  std::string path_;
  std::vector<std::size_t> fields_;
  FilePtr file_;
  std::string line_, length_;
};

Encoding encoding_of(const CsvContexts& contexts, const CsvColumns& columns, const std::vector<std::string>& header) {
  if (contexts.encoding) return *contexts.encoding;
  Encoding encoding;
  for (const std::size_t position : columns.context) encoding.columns.push_back({.name = header[position]});
  return encoding;
}

/// The columns of the encoding; others may not be asked for beside it.
std::vector<std::string> context_patterns(const CsvContexts& contexts, const std::vector<std::string>& header) {
  if (!contexts.encoding) return split_column_lists(contexts.context, header);
  if (!contexts.context.empty())
    throw Error(ErrorKind::usage, "--context and --encoding exclude each other: the encoding names its columns");
  std::vector<std::string> names;
  for (const EncodedColumn& column : contexts.encoding->columns) names.push_back(column.name);
  return names;
}

std::vector<std::size_t> all_but(const std::vector<std::string>& names, const std::vector<std::string>& header) {
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < header.size(); ++i)
    if (std::find(names.begin(), names.end(), header[i]) == names.end()) fields.push_back(i);
  return fields;
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field;
  add_field(field, text);
  return field;
}

ContextsResult import_csv_contexts(const CsvContexts& contexts, const BytesProgress& progress) {
  CsvReader reader(contexts.file, contexts.delimiter);
  CsvColumns columns = choose_context_columns(contexts.asked_by, contexts.file,
                                              context_patterns(contexts, reader.header()), reader.header());
  const Encoding encoding = encoding_of(contexts, columns, reader.header());
  columns.schema.context_columns = feature_names(encoding);
  columns.schema.features = static_cast<std::int64_t>(columns.schema.context_columns.size());
  require_block_fits(reader, columns.schema, {}, contexts.memory);
  std::vector<std::size_t> kept_fields;
  std::optional<KeptWriter> kept;
  if (!contexts.kept.empty()) {
    kept_fields =
        expand_columns("--keep", contexts.file, split_column_lists(contexts.keep, reader.header()), reader.header());
    if (contexts.keep.empty()) kept_fields = all_but(contexts.replaced, reader.header());
    kept.emplace(contexts.kept, kept_fields);
  }
  CsvRows rows(columns.schema, encoding, contexts.encoding ? EncodingOrigin::file : EncodingOrigin::given);
  rows.begin_file(reader.path(), columns, reader.header());
  ShardWriter writer(contexts.shard, columns.schema, {});
  bool good = true;
  while (reader.next()) {
    if (rows.full()) {
      const Block block = rows.take();
      if (good) writer.append(block);
      if (progress) progress(reader.bytes_done(), reader.bytes_total());
    }
    good = rows.add(reader.fields(), reader.line()) && good;
    if (good && kept) kept->add(reader.fields());
  }
  rows.require_no_bad_rows(false);
  writer.append(rows.take());
  writer.commit();
  if (kept) kept->close();
  const Substitutions substituted = total(rows.substitutions());
  ContextsResult result{.filled_holes = substituted.holes,
                        .other_levels = substituted.other_levels,
                        .warnings = substitution_warnings(encoding, rows.substitutions(), writer.rows())};
  for (const std::size_t field : kept_fields) result.kept.push_back(reader.header()[field]);
  for (const std::string& name : contexts.replaced)
    if (contexts.keep.empty() &&
        std::find(reader.header().begin(), reader.header().end(), name) != reader.header().end())
      result.replaced.push_back(name);
  return result;
}

struct KeptColumns::Impl {
  std::vector<std::string> files;
  std::size_t opened = 0;
  FilePtr file;
  std::string line;
};

KeptColumns::KeptColumns(std::vector<std::string> files) : impl_(std::make_unique<Impl>()) {
  impl_->files = std::move(files);
}
KeptColumns::~KeptColumns() = default;
KeptColumns::KeptColumns(KeptColumns&&) noexcept = default;
KeptColumns& KeptColumns::operator=(KeptColumns&&) noexcept = default;

std::string_view KeptColumns::next() {
  Impl& state = *impl_;
  char length[sizeof(std::uint32_t)];
  while (!state.file || std::fread(length, 1, sizeof length, state.file.get()) != sizeof length) {
    if (state.opened == state.files.size())
      throw Error(ErrorKind::run, "there are fewer rows than contexts", {.file = state.files.back()});
    state.file = open_file(state.files[state.opened++], "rb");
  }
  state.line.resize(get_u32({length, sizeof length}));
  if (std::fread(state.line.data(), 1, state.line.size(), state.file.get()) != state.line.size())
    fail_file(state.files[state.opened - 1], "cannot read");
  return state.line;
}

}  // namespace scrm
