#include "cli/options/context_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "cli/outputs.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/import/csv_contexts.hpp"

namespace scrm {

namespace {

/// Whether these are contexts as text: a CSV file by its name, or what comes through the standard input or a pipe.
bool is_text(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path name = path.ends_with(".gz") ? fs::path(path).stem() : fs::path(path);
  std::error_code ignored;
  return name.extension() == ".csv" || name.extension() == ".tsv" || path == "/dev/stdin" ||
         (path.starts_with("/dev/") && fs::is_fifo(path, ignored));
}

}  // namespace

void take_policy_inputs(const std::vector<std::string>& names, ContextInputs& inputs) {
  if (inputs.csv() || names.empty() || !std::all_of(inputs.paths.begin(), inputs.paths.end(), is_text)) return;
  inputs.columns = {column_list(names)};
  inputs.asked_by = "without --context or --encoding, the policy's inputs are taken by name";
}

void require_columns(const ContextInputs& inputs) {
  const auto text = std::find_if(inputs.paths.begin(), inputs.paths.end(), is_text);
  if (inputs.csv() || text == inputs.paths.end()) return;
  fail_usage(
      fmt::format("--contexts {}: name the columns of a CSV file with --context, for instance --context 'x*', or give "
                  "the --encoding that import wrote",
                  *text));
}

std::string column_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + csv_field(name);
  return list;
}

std::string input_path(const std::string& name) {
  return name == "-" ? "/dev/stdin" : name;
}

char parse_delimiter(const std::string& text) {
  if (text == "\\t" || text == "tab") return '\t';
  if (text.size() != 1) fail_usage(fmt::format("--delimiter '{}' is not one character; write , or ; or tab", text));
  return text.front();
}

ContextFiles::ContextFiles(const ContextInputs& inputs, std::string beside, bool keeps, const CommonOptions& common)
    : paths_(inputs.paths) {
  if (!inputs.csv()) return;
  require_distinct(paths_);
  const std::size_t memory = MemoryLedger::of_process(common.memory).left();
  if (!inputs.encoding.empty()) encoding_ = read_encoding(inputs.encoding, memory);
  while (beside.size() > 1 && beside.back() == '/') beside.pop_back();
  report_leftovers(beside + ".contexts", common);
  folder_.emplace(beside + ".contexts", false);
  const Progress bar = progress_bar("reading", common.quiet, "bytes");
  const auto on_bytes = [&](std::int64_t done, std::int64_t total) {
    if (bar && total > 0) bar(done, total);
  };
  CsvContexts csv;
  csv.delimiter = parse_delimiter(inputs.delimiter);
  csv.context = inputs.columns;
  csv.asked_by = inputs.asked_by;
  csv.encoding = encoding_;
  csv.keep = inputs.keep;
  csv.replaced = inputs.replaced;
  csv.memory = memory;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    csv.file = paths_[i];
    csv.shard = fmt::format("{}/part-{:05}.h5", folder_->temporary_path(), i);
    if (keeps) csv.kept = fmt::format("{}/kept-{:05}", folder_->temporary_path(), i);
    ContextsResult result;
    folder_->write([&] { result = import_csv_contexts(csv, on_bytes); });
    filled_holes_ += result.filled_holes;
    other_levels_ += result.other_levels;
    for (const std::string& warning : result.warnings)
      print_warning(fmt::format("{}: {}", paths_[i], warning), common.quiet);
    if (keeps) {
      kept_names_ = result.kept;
      csv.keep.clear();  // the next file's columns may stand in another order
      for (const std::string& name : result.kept) csv.keep.push_back(csv_field(name));
      kept_files_.push_back(csv.kept);
    }
    if (keeps && !result.replaced.empty()) {
      print_warning(fmt::format("{} of {} {} not kept, since acting adds {} of the same name",
                                fmt::join(result.replaced, ", "), paths_[i], result.replaced.size() == 1 ? "is" : "are",
                                result.replaced.size() == 1 ? "a column" : "columns"),
                    common.quiet);
    }
    paths_[i] = csv.shard;
  }
}

}  // namespace scrm
