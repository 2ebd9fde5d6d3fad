#include "report/acted_csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "scrm/engine/human_bytes.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

// A line with more fields than this is of no use to anyone, and a sparse context could have billions.
constexpr std::int64_t kMaxFeatures = 100000;

constexpr std::size_t kTextBytes = std::size_t{1} << 20;  // written at once

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

class CsvFile {
 public:
  explicit CsvFile(const AtomicFile& file)
      : path_(file.path()), file_(std::fopen(file.temporary_path().c_str(), "wb")) {
    if (!file_) fail();
  }

  void write(const fmt::memory_buffer& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail();
  }

  void close() {
    if (std::fclose(file_.release()) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::file,
                fmt::format("cannot write: {}; nothing appeared under this name", std::strerror(errno)),
                {.file = path_});
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

void add_row(fmt::memory_buffer& text, const Block& block, int row, std::vector<double>& full) {
  add_context(text, block, row, full);
  if (block.action != nullptr) add_number(text, block.action[row]);
  if (block.category != nullptr) fmt::format_to(std::back_inserter(text), "{},", block.category[row]);
  if (block.bits != nullptr) {
    for (std::int64_t k = 0; k < block.num_actions; ++k) {
      text.append(block.bits[k * kBlockRows + row] != 0 ? std::string_view("1,") : std::string_view("0,"));
    }
  }
  add_number(text, block.propensity != nullptr ? block.propensity[row] : block.log_propensity[row]);
  if (block.label_propensity != nullptr) add_columns(text, block.label_propensity, block.num_actions, row);
  text.data()[text.size() - 1] = '\n';  // instead of the last comma
}

}  // namespace

std::vector<std::string> acted_csv_header(const Schema& schema) {
  std::vector<std::string> names;
  for (std::int64_t j = 0; j < schema.features; ++j) names.push_back(fmt::format("x{}", j));
  const bool multilabel = schema.action_kind == ActionKind::multilabel;
  if (!multilabel) names.emplace_back("action");
  for (int k = 0; multilabel && k < schema.num_actions; ++k) names.push_back(fmt::format("action_{}", k));
  names.emplace_back(schema.propensity == PropensityForm::linear ? "propensity" : "log_propensity");
  for (int k = 0; schema.label_propensity && k < schema.num_actions; ++k) {
    names.push_back(fmt::format("label_propensity_{}", k));
  }
  return names;
}

void write_acted_csv(Source& source, const AtomicFile& out, const PassOptions& options) {
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
  CsvFile file(out);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "{}\n", fmt::join(acted_csv_header(source.schema()), ","));
  const auto loader = source.make_loader();
  std::vector<double> full;
  Audit audit;
  for (std::int64_t first = 0; first < source.blocks(); first += source.group_blocks()) {
    const int count = static_cast<int>(std::min<std::int64_t>(source.group_blocks(), source.blocks() - first));
    const auto group = source.fetch(first, count);
    for (int b = 0; b < count; ++b) {
      const Block block = source.load(*group, first + b, *loader, audit);
      require_no_bad_rows(audit, false);
      for (int i = 0; i < block.rows; ++i) {
        add_row(text, block, i, full);
        if (text.size() < kTextBytes) continue;
        file.write(text);
        text.clear();
      }
      if (options.progress) options.progress(block.first_row + block.rows, source.rows());
    }
  }
  file.write(text);
  file.close();
}

}  // namespace scrm
