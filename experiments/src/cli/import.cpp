#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/labelled_import.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/memory_ledger.hpp"
#include "scrm/io/csv_import.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

/// The options as they are typed; `import` is what they come to.
struct ImportOptions {
  CommonOptions common;
  CsvImport import;
  LabelledImport labelled;
  std::vector<std::string> files;
  std::string out;
  std::string format;
  std::string action_kind;
  std::string delimiter = ",";
  std::string compress;
  std::vector<std::string> targets;

  // What was given on the command line is known to these.
  std::vector<const CLI::Option*> csv_flags;
  LabelledFlags labelled_flags;
  const CLI::Option* action_flag = nullptr;
  const CLI::Option* action_kind_flag = nullptr;
};

char parse_delimiter(const std::string& text) {
  if (text == "\\t" || text == "tab") return '\t';
  if (text.size() != 1) fail_usage(fmt::format("--delimiter '{}' is not one character; write , or ; or tab", text));
  return text.front();
}

std::pair<std::string, std::string> parse_target(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail_usage(fmt::format("--target '{}' is not NAME=COLUMN, such as newmodel=p_new", text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The columns as they were asked for; "x*" says more than 2,000 names.
std::string joined(const std::vector<std::string>& patterns) {
  return patterns.empty() ? "none" : fmt::format("{}", fmt::join(patterns, ","));
}

void resolve_options(ImportOptions& options) {
  CsvImport& import = options.import;
  import.delimiter = parse_delimiter(options.delimiter);
  import.action_kind = options.action_kind == "categorical"  ? ActionKind::categorical
                       : options.action_kind == "multilabel" ? ActionKind::multilabel
                                                             : ActionKind::continuous;
  import.write.gzip = options.compress == "gzip";
  import.targets.clear();
  for (const std::string& target : options.targets) import.targets.push_back(parse_target(target));
  import.write.attributes = {{"source", std::filesystem::path(import.file).filename().string()},
                             { "context_columns",
                               joined(import.context) }};
}

nlohmann::json skipped_by_reason(const CsvImportResult& result) {
  nlohmann::json reasons = nlohmann::json::object();
  for (std::size_t i = 0; i < result.bad_records.size(); ++i)
    if (result.bad_records[i] > 0) reasons[key(static_cast<BadRecordReason>(i))] = result.bad_records[i];
  for (std::size_t i = 0; i < result.bad_rows.size(); ++i)
    if (result.bad_rows[i] > 0) reasons[key(static_cast<BadRowReason>(i))] = result.bad_rows[i];
  return reasons;
}

void print_json(const ImportOptions& options, const CsvImportResult& result, double seconds) {
  const nlohmann::json json = {{"rows", result.rows},
                               {"skipped_rows", result.skipped_rows()},
                               {"skipped", skipped_by_reason(result)},
                               {"shards", result.shards},
                               {"features", result.schema.features},
                               {"action_kind", to_string(result.schema.action_kind)},
                               {"num_actions", result.schema.num_actions},
                               {"out", options.import.out},
                               {"seconds", seconds}};
  fmt::print("{}\n", json_text(json));
}

void warn_of_skipped(const ImportOptions& options, const CsvImportResult& result) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < result.bad_records.size(); ++i)
    if (result.bad_records[i] > 0)
      reasons.push_back(
          fmt::format("{}: {}", to_string(static_cast<BadRecordReason>(i)), with_commas(result.bad_records[i])));
  for (std::size_t i = 0; i < result.bad_rows.size(); ++i)
    if (result.bad_rows[i] > 0)
      reasons.push_back(
          fmt::format("{}: {}", to_string(static_cast<BadRowReason>(i)), with_commas(result.bad_rows[i])));
  if (reasons.empty()) return;
  print_warning(fmt::format("{} {} left out ({})", counted(result.skipped_rows(), "bad row"),
                            result.skipped_rows() == 1 ? "was" : "were", fmt::join(reasons, "; ")),
                options.common.quiet);
}

void print_summary(const ImportOptions& options, const CsvImportResult& result, double seconds) {
  const Schema& schema = result.schema;
  const std::string actions =
      schema.action_kind == ActionKind::categorical  ? fmt::format(" ({})", counted(schema.num_actions, "action"))
      : schema.action_kind == ActionKind::multilabel ? fmt::format(" ({})", counted(schema.num_actions, "label"))
                                                     : std::string();
  fmt::print("{}, {}, {} actions{} -> {} ({}) in {}\n", counted(result.rows, "row"),
             counted(schema.features, "feature"), to_string(schema.action_kind), actions,
             styled(options.import.out, Style::strong), counted(result.shards, "shard"), human_seconds(seconds));
}

void reject_flags(const std::vector<const CLI::Option*>& flags, const std::string& format, const char* belongs_to) {
  for (const CLI::Option* flag : flags) {
    if (flag->count() == 0) continue;
    fail_usage(fmt::format("{} belongs to --format {}, not to {}", flag->get_name(), belongs_to, format));
  }
}

/// Fails where the output is there already or is an input.
void prepare_output(const ImportOptions& options) {
  std::vector<std::string> inputs = options.files;
  if (!options.labelled.options.label_xml.empty()) inputs.push_back(options.labelled.options.label_xml);
  if (options.format != "csv" || std::filesystem::path(options.out).extension() == ".h5") {
    prepare_output_file(options.out, inputs, options.import.overwrite, options.common);
  } else {
    prepare_output_folder(options.out, inputs, options.common);
  }
}

/// The bar is gone when this ends, before anything else is said.
CsvImportResult import_with_progress(const ImportOptions& options) {
  const Progress bar = progress_bar("import", options.common.quiet, "bytes");
  const auto on_bytes = [&bar](std::int64_t done, std::int64_t total) {
    if (bar && total > 0) bar(done, total);
  };
  return import_csv(options.import, on_bytes);
}

void run_csv(ImportOptions& options) {
  for (const CLI::Option* flag : {options.action_flag, options.action_kind_flag})
    if (flag->count() == 0) throw CLI::RequiredError(flag->get_name());
  if (options.files.size() > 1)
    throw Error(ErrorKind::usage, "one CSV file at a time: import each into a shard of its own, in one folder",
                {.file = options.files[1]});
  options.import.file = options.files.front();
  options.import.out = options.out;
  resolve_options(options);
  prepare_output(options);
  const Stopwatch watch;
  options.import.memory = MemoryLedger::of_process(options.common.memory).left();
  const CsvImportResult result = import_with_progress(options);
  const double seconds = watch.seconds();
  warn_of_skipped(options, result);
  if (options.common.json)
    print_json(options, result, seconds);
  else
    print_summary(options, result, seconds);
}

void run(ImportOptions& options) {
  const LabelledFlags& labelled = options.labelled_flags;
  const bool csv = options.format == "csv";
  if (csv) reject_flags(labelled.both, options.format, "arff or libsvm");
  if (!csv) reject_flags(options.csv_flags, options.format, "csv");
  if (options.format != "arff") reject_flags(labelled.arff, options.format, "arff");
  if (options.format != "libsvm") reject_flags(labelled.libsvm, options.format, "libsvm");
  if (csv) return run_csv(options);
  prepare_output(options);
  options.labelled.files = options.files;
  options.labelled.out = options.out;
  options.labelled.gzip = options.compress == "gzip";
  run_labelled_import(options.labelled, options.format == "arff" ? LabelledFormat::arff : LabelledFormat::libsvm,
                      options.common);
}

void add_column_options(CLI::App& command, ImportOptions& options) {
  CsvImport& import = options.import;
  const char* group = "Columns of csv (by their names in the header)";
  command.add_option("--context", import.context, "Features: names, ranges first:last, prefixes x*; default none")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B,...")
      ->group(group);
  options.action_flag =
      command.add_option("--action", import.action, "The logged action; for multilabel, one 0/1 column for each label")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("COLUMN")
          ->group(group);
  command.add_option("--loss", import.loss, "What happened, smaller is better")->type_name("COLUMN")->group(group);
  command.add_option("--reward-column", import.reward, "Instead of --loss: larger is better, stored with turned sign")
      ->type_name("COLUMN")
      ->group(group);
  command
      .add_option("--propensity", import.propensity, "Probability or density of the logged action when it was taken")
      ->type_name("COLUMN")
      ->group(group);
  command.add_option("--log-propensity", import.log_propensity, "Instead of --propensity: its natural logarithm")
      ->type_name("COLUMN")
      ->group(group);
  command.add_option("--label-propensity", import.label_propensity, "Multilabel: probability of each logged bit")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B,...")
      ->group(group);
  command
      .add_option("--target", options.targets,
                  "Probability or density of the logged action under another policy; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=COLUMN")
      ->group(group);
}

void add_other_options(CLI::App& command, ImportOptions& options) {
  CsvImport& import = options.import;
  options.action_kind_flag =
      command.add_option("--action-kind", options.action_kind, "continuous, categorical or multilabel")
          ->check(CLI::IsMember({"continuous", "categorical", "multilabel"}))
          ->type_name("KIND");
  command.add_option("--num-actions", import.num_actions, "Categorical: how many; default the largest in the file + 1")
      ->check(CLI::PositiveNumber)
      ->type_name("K");
  command.add_option("--delimiter", options.delimiter, "Between fields; 'tab' for tabulators")->type_name("CHAR");
  command.add_flag("--skip-bad-rows", import.skip_bad_rows, "Go on without bad rows and report how many there were");
  command.add_flag("--float32", import.float32, "Store the context as float32: half the size");
  command.add_option("--shards", import.shards, "Split into K files of about equal size")
      ->check(CLI::Range(1, 99999))
      ->type_name("K");
  command.add_option("--rows-per-shard", import.rows_per_shard, "Split into files of N rows")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command.add_option("--rollout", import.write.rollout, "Number of the deployment that logged these rows")
      ->check(CLI::NonNegativeNumber)
      ->type_name("T");
}

/// The options that `add` gives to the command.
template <class Add>
std::vector<const CLI::Option*> options_added(CLI::App& command, const Add& add) {
  const std::size_t before = command.get_options().size();
  add();
  const std::vector<CLI::Option*> all = command.get_options();
  return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
}

}  // namespace

void add_import_command(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("import", "Bring logs (CSV) into shards, labelled data (ARFF, LIBSVM) into a data set");
  const auto options = std::make_shared<ImportOptions>();
  command
      ->add_option("file", options->files,
                   "The text file; /dev/stdin reads from a pipe. Several of arff or libsvm make one data set")
      ->required()
      ->type_name("FILE");
  command->add_option("--format", options->format, "csv: logs; arff, libsvm: labelled data")
      ->required()
      ->check(CLI::IsMember({"csv", "arff", "libsvm"}))
      ->type_name("FORMAT");
  command->add_option("--out", options->out, "An .h5 file; csv: or a folder for part-00000.h5, part-00001.h5, ...")
      ->required()
      ->type_name("PATH");
  command->add_flag("--overwrite", options->import.overwrite,
                    "Replace a file, or a folder of shards, that is there already");
  add_compress_option(*command, options->compress, "gzip: smaller files, slower to write");
  options->csv_flags = options_added(*command, [&] {
    add_column_options(*command, *options);
    add_other_options(*command, *options);
  });
  options->labelled_flags = add_labelled_options(*command, options->labelled);
  add_common_options(*command, options->common);
  command->footer(
      "Example:\n"
      "  scrm import clicks.csv --format csv --out logs --action-kind categorical --num-actions 5 \\\n"
      "      --context 'x*' --action shown --loss cost --propensity p --target newmodel=p_new\n"
      "  scrm inspect logs\n"
      "  scrm import scene-train.arff scene-test.arff --format arff --label-xml scene.xml --out scene.h5");
  command->callback([options] { run(*options); });
}

}  // namespace scrm
