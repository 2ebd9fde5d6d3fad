#include "cli/import/labelled_import.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/options/choice.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/labelled_text.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/labelled/labelled_file.hpp"

namespace scrm {
namespace {

std::optional<int> first_number(const std::string& text) {
  if (text == "auto") return std::nullopt;
  return text == "0" ? 0 : 1;
}

void require_file_name(const std::string& out) {
  if (std::filesystem::path(out).extension() == ".h5") return;
  throw Error(ErrorKind::usage,
              fmt::format("--out {}: a labelled data set is one file; give it a name that ends in .h5", out));
}

}  // namespace

LabelledFlags add_labelled_options(CLI::App& command, LabelledImport& import) {
  const char* group = "Labelled data (arff, libsvm, csv with --class)";
  LabelledFlags flags;
  flags.class_column =
      command
          .add_option("--class", import.options.class_name,
                      "The column (csv) or attribute (arff; default the last) with the row's one class, "
                      "a text or a number; csv: features are --context, or all other columns")
          ->type_name("NAME")
          ->group(group);
  flags.multiclass = command
                         .add_flag("--multiclass", import.options.multiclass,
                                   "Rows have one class each: what a libsvm row begins with, the last arff attribute")
                         ->group(group);
  flags.both.push_back(
      command.add_option("--labels", import.options.labels, "How many labels; arff: the last attributes")
          ->check(CLI::PositiveNumber)
          ->type_name("K")
          ->group(group));
  flags.arff.push_back(command
                           .add_option("--label-xml", import.options.label_xml,
                                       "arff: the file that names the labels; default the .xml beside FILE")
                           ->type_name("FILE")
                           ->group(group));
  flags.libsvm.push_back(
      command.add_option("--features", import.options.features, "libsvm: how many; default as many as occur")
          ->check(CLI::PositiveNumber)
          ->type_name("D")
          ->group(group));
  flags.libsvm.push_back(command.add_option("--first-label", import.first_label, "libsvm: number of the first label")
                             ->check(one_of({"auto", "0", "1"}))
                             ->type_name("auto|0|1")
                             ->group(group));
  flags.libsvm.push_back(
      command.add_option("--first-feature", import.first_feature, "libsvm: number of the first feature")
          ->check(one_of({"auto", "0", "1"}))
          ->type_name("auto|0|1")
          ->group(group));
  return flags;
}

void run_labelled_import(LabelledImport import, LabelledFormat format, const CommonOptions& common) {
  const Stopwatch watch;
  require_file_name(import.out);
  import.options.memory = MemoryLedger::of_process(common.memory).left();
  import.options.format = format;
  import.options.first_label = first_number(import.first_label);
  import.options.first_feature = first_number(import.first_feature);
  LibsvmNumbering numbering;
  const LabelledData data = read_any_labelled(import.files, import.options, &numbering);
  const LabelledSummary summary = summarize(data);
  write_labelled(import.out, data, import.gzip);
  const double seconds = watch.seconds();
  const bool numbered = format == LabelledFormat::libsvm;
  if (common.json) {
    nlohmann::ordered_json json = labelled_json(data, summary);
    if (numbered) {
      if (!data.multiclass) json["first_label"] = numbering.first_label;
      json["first_feature"] = numbering.first_feature;
    }
    json["out"] = import.out;
    json["seconds"] = seconds;
    fmt::print("{}\n", json_text(json));
    return;
  }
  fmt::print("{} row{}, {}, {} -> {} in {}\n", with_commas(data.rows), data.rows == 1 ? "" : "s",
             context_text(data, summary), answers_text(data), styled(import.out, Style::strong),
             human_seconds(seconds));
  if (numbered && data.multiclass) fmt::print("  features were counted from {}\n", numbering.first_feature);
  if (numbered && !data.multiclass)
    fmt::print("  labels were counted from {}, features from {}\n", numbering.first_label, numbering.first_feature);
  fmt::print("{}", labels_text(data, summary));
}

}  // namespace scrm
