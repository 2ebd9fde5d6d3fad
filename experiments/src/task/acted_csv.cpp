#include "task/acted_csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "scrm/engine/schedule/human_bytes.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

// A line with more fields than this is of no use to anyone, and a sparse context could have billions.
constexpr std::int64_t kMaxFeatures = 100000;

constexpr std::size_t kTextBytes = std::size_t{1} << 20;  // written at once

struct Close {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdout) std::fclose(file);
  }
};

class CsvFile {
 public:
  explicit CsvFile(const AtomicFile* file)
      : path_(file != nullptr ? file->path() : "standard output"),
        file_(file != nullptr ? std::fopen(file->temporary_path().c_str(), "wb") : stdout) {
    if (!file_) fail();
  }

  void write(const fmt::memory_buffer& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail();
  }

  void close() {
    const bool closed = file_.get() == stdout ? std::fflush(stdout) == 0 : std::fclose(file_.release()) == 0;
    if (!closed) fail();
  }

 private:
  [[noreturn]] void fail() const {
    const int reason = errno;
    // Who reads has seen enough, as `| head` has: the program ends as it does where it prints.
    if (file_.get() == stdout && reason == EPIPE) throw std::system_error(reason, std::generic_category());
    const char* rest = file_.get() == stdout ? "" : "; nothing appeared under this name";
    throw Error(ErrorKind::file, fmt::format("cannot write: {}{}", std::strerror(reason), rest), {.file = path_});
  }

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

void add_number(fmt::memory_buffer& text, double value) {
  fmt::format_to(std::back_inserter(text), "{},", value);
}

void add_columns(fmt::memory_buffer& text, const double* base, std::int64_t columns, int row) {
  for (std::int64_t k = 0; k < columns; ++k) add_number(text, base[k * kBlockRows + row]);
}

void add_context(fmt::memory_buffer& text, const Block& block, int row, std::vector<double>& full) {
  if (block.sparse.indptr != nullptr) {
    full.assign(static_cast<std::size_t>(block.features), 0.0);
    for (std::int64_t e = block.sparse.indptr[row]; e < block.sparse.indptr[row + 1]; ++e) {
      full[static_cast<std::size_t>(block.sparse.indices[e])] += block.sparse.values[e];
    }
    for (const double value : full) add_number(text, value);
  } else if (block.context_type == FloatType::f32) {
    // As a double: the fewest digits of a float would read back to another double.
    const auto* context = static_cast<const float*>(block.context);
    for (std::int64_t j = 0; j < block.features; ++j) add_number(text, double{context[j * kBlockRows + row]});
  } else {
    add_columns(text, static_cast<const double*>(block.context), block.features, row);
  }
}

/// The texts of rows, one after another.
class RowTexts {
 public:
  RowTexts(const Schema& schema, const ActedCsv& csv) : csv_(csv) {
    for (const std::string& name : csv.action_names) names_.push_back(csv_field(name));
    fmt::format_to(std::back_inserter(text_), "{}\n", fmt::join(acted_csv_header(schema, csv), ","));
  }

  fmt::memory_buffer& text() noexcept { return text_; }

  void add(const Block& block, int row) {
    if (csv_.kept != nullptr)
      text_.append(csv_.kept->next());
    else
      add_context(text_, block, row, full_);
    if (block.action != nullptr) add_number(text_, block.action[row]);
    if (block.category != nullptr) add_category(block.category[row]);
    if (block.bits != nullptr) {
      for (std::int64_t k = 0; k < block.num_actions; ++k) {
        text_.append(block.bits[k * kBlockRows + row] != 0 ? std::string_view("1,") : std::string_view("0,"));
      }
    }
    add_number(text_, block.propensity != nullptr ? block.propensity[row] : block.log_propensity[row]);
    if (block.label_propensity != nullptr) add_columns(text_, block.label_propensity, block.num_actions, row);
    text_.data()[text_.size() - 1] = '\n';  // instead of the last comma
  }

 private:
  void add_category(std::int32_t category) {
    if (names_.empty()) {
      fmt::format_to(std::back_inserter(text_), "{},", category);
      return;
    }
    text_.append(names_[static_cast<std::size_t>(category)]);
    text_.push_back(',');
  }

  const ActedCsv& csv_;
  std::vector<std::string> names_;
  fmt::memory_buffer text_;
  std::vector<double> full_;  // a sparse context
};

}  // namespace

std::vector<std::string> label_columns(const Schema& schema) {
  const std::vector<std::string>& features = schema.context_columns;
  const auto is_plain = [&features](const std::string& name) {
    return !name.empty() && name.find_first_of(",*:") == std::string::npos && !name.ends_with("propensity") &&
           !name.starts_with("label_propensity") && std::find(features.begin(), features.end(), name) == features.end();
  };
  const std::vector<std::string>& labels = schema.action_names;
  if (!labels.empty() && std::all_of(labels.begin(), labels.end(), is_plain)) return labels;
  std::vector<std::string> names;
  for (int k = 0; k < schema.num_actions; ++k) names.push_back(fmt::format("action_{}", k));
  return names;
}

std::vector<std::string> acted_columns(const Schema& schema) {
  std::vector<std::string> names{"action"};
  if (schema.action_kind == ActionKind::multilabel) names = label_columns(schema);
  names.emplace_back(schema.propensity == PropensityForm::linear ? "propensity" : "log_propensity");
  for (int k = 0; schema.label_propensity && k < schema.num_actions; ++k) {
    names.push_back(fmt::format("label_propensity_{}", k));
  }
  return names;
}

std::vector<std::string> acted_csv_header(const Schema& schema, const ActedCsv& csv) {
  const std::vector<std::string> added = acted_columns(schema);
  std::vector<std::string> names;
  if (csv.kept != nullptr) {
    for (const std::string& name : csv.kept_names) names.push_back(csv_field(name));
  } else if (!schema.context_columns.empty()) {
    for (const std::string& name : schema.context_columns) names.push_back(csv_field(name));
  } else {
    for (std::int64_t j = 0; j < schema.features; ++j) names.push_back(fmt::format("x{}", j));
  }
  for (const std::string& one : added) {
    const std::string name = csv_field(one);
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw Error(ErrorKind::usage,
                  fmt::format("the contexts have a column '{}' already, and acting adds one of this name; name the "
                              "columns to keep with --keep, without it",
                              one));
    names.push_back(name);
  }
  return names;
}

void write_acted_csv(Source& source, const ActedCsv& csv, const PassOptions& options) {
  if (source.schema().features > kMaxFeatures) {
    throw Error(ErrorKind::usage, fmt::format("{} features are too many for the columns of a CSV file; write shards "
                                              "with --out",
                                              source.schema().features));
  }
  const std::size_t needed = source.group_bytes() + source.loader_bytes() + 2 * kTextBytes;
  if (options.memory > 0 && needed > options.memory) {
    throw Error(
        ErrorKind::memory,
        fmt::format("{} rows at a time take {}, more than the {} allowed", source.group_blocks() * kBlockRows,
                    human_bytes(static_cast<double>(needed)), human_bytes(static_cast<double>(options.memory))));
  }
  RowTexts rows(source.schema(), csv);
  CsvFile file(csv.file);
  const auto loader = source.make_loader();
  Audit audit;
  for (std::int64_t first = 0; first < source.blocks(); first += source.group_blocks()) {
    const int count = static_cast<int>(std::min<std::int64_t>(source.group_blocks(), source.blocks() - first));
    const auto group = source.fetch(first, count);
    for (int b = 0; b < count; ++b) {
      const Block block = source.load(*group, first + b, *loader, audit);
      require_no_bad_rows(audit, false);
      for (int i = 0; i < block.rows; ++i) {
        rows.add(block, i);
        if (rows.text().size() < kTextBytes) continue;
        file.write(rows.text());
        rows.text().clear();
      }
      if (options.progress) options.progress(block.first_row + block.rows, source.rows());
    }
  }
  file.write(rows.text());
  file.close();
}

}  // namespace scrm
