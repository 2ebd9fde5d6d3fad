#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/import/import_options.hpp"
#include "cli/import/labelled_import.hpp"
#include "cli/options/context_files.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/import_text.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/engine/schedule/parallel_tasks.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/import/npz_import.hpp"

namespace scrm {
namespace {

/// NAME=COLUMN, '*=p_*' (named by what the star stands for), or a pattern alone (named as the columns are).
std::pair<std::string, std::string> parse_target(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool pattern = text.size() > 1 && (text.back() == '*' || text.find(':') != std::string::npos);
  if (equals == std::string::npos && pattern) return {text, text};
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail_usage(
        fmt::format("--target '{}' is not NAME=COLUMN, such as newmodel=p_new, nor a pattern, such as '*=p_*'", text));
  const std::pair<std::string, std::string> target = {text.substr(0, equals), text.substr(equals + 1)};
  if (target.second.back() == '*' && target.first.back() != '*')
    fail_usage(
        fmt::format("--target '{}' gives one name to several columns; write '*={}' to name each by what the star "
                    "stands for",
                    text, target.second));
  return target;
}

/// csv, npz, arff or libsvm, from the ending of a file's name; empty where it does not tell.
std::string format_of(const std::string& file) {
  std::filesystem::path name = std::filesystem::path(file).filename();
  if (name.extension() == ".gz") name = name.stem();
  const std::string ending = name.extension().string();
  if (ending == ".csv" || ending == ".tsv") return "csv";
  if (ending == ".npz") return "npz";
  if (ending == ".arff") return "arff";
  if (ending == ".svm" || ending == ".libsvm") return "libsvm";
  return "";
}

/// What stands between the fields of a file of this name: .tsv means tabulators.
std::string usual_delimiter(const std::string& file) {
  return file.ends_with(".tsv") || file.ends_with(".tsv.gz") ? "tab" : ",";
}

void resolve_options(ImportOptions& options) {
  CsvImport& import = options.import;
  import.files = options.files;
  import.out = options.out;
  import.delimiter =
      parse_delimiter(options.delimiter.empty() ? usual_delimiter(options.files.front()) : options.delimiter);
  import.action_kind = options.action_kind == "categorical"  ? ActionKind::categorical
                       : options.action_kind == "multilabel" ? ActionKind::multilabel
                                                             : ActionKind::continuous;
  import.write.gzip = options.compress == "gzip";
  import.targets.clear();
  for (const std::string& target : options.targets) import.targets.push_back(parse_target(target));
  if (!options.unseen.empty()) import.unseen = options.unseen == "other" ? UnseenLevel::other : UnseenLevel::error;
  if (!options.impute.empty())
    import.impute = options.impute == "mean" ? Impute::mean : options.impute == "zero" ? Impute::zero : Impute::error;
  import.threads = resolve_threads(options.common.threads);
  if (import.threads > 1) import.parallel = parallel_tasks(import.threads);
  import.write.attributes = {{ "source", std::filesystem::path(options.files.front()).filename().string() }};
}

/// Whether a format holds logs, which become shards, rather than labelled data.
bool makes_logs(const std::string& format) {
  return format != "arff" && format != "libsvm";
}

void reject_flags(const std::vector<const CLI::Option*>& flags, const std::string& format, const char* belongs_to) {
  for (const CLI::Option* flag : flags) {
    if (flag->count() == 0) continue;
    fail_usage(fmt::format("{} belongs to --format {}, not to {}", flag->get_name(), belongs_to, format));
  }
}

/// Fails where the output is there already or is an input.
void prepare_output(const ImportOptions& options, bool logs) {
  std::vector<std::string> inputs = options.files;
  if (!options.import.encoding.empty()) inputs.push_back(options.import.encoding);
  if (!options.labelled.options.label_xml.empty()) inputs.push_back(options.labelled.options.label_xml);
  if (!logs || std::filesystem::path(options.out).extension() == ".h5") {
    prepare_output_file(options.out, inputs, options.import.overwrite, options.common);
  } else {
    prepare_output_folder(options.out, inputs, options.common);
  }
}

/// Runs an import of logs and says what came of it.
template <class Import>
void import_logs(ImportOptions& options, Import& import, ImportResult (*run)(const Import&, const BytesProgress&)) {
  prepare_output(options, true);
  const Stopwatch watch;
  import.memory = MemoryLedger::of_process(options.common.memory).left();
  ImportResult result;
  {
    // The bar is gone before anything else is said.
    const Progress bar = progress_bar("import", options.common.quiet, "bytes");
    result = run(import, [&bar](std::int64_t done, std::int64_t total) {
      if (bar && total > 0) bar(done, total);
    });
  }
  const double seconds = watch.seconds();
  if (const std::string skipped = skipped_text(result); !skipped.empty()) print_warning(skipped, options.common.quiet);
  for (const std::string& warning : result.warnings) print_warning(warning, options.common.quiet);
  fmt::print("{}",
             (options.common.json ? import_json : import_text)(result, options.out, options.import.encoding, seconds));
}

void run_csv(ImportOptions& options) {
  for (const CLI::Option* flag : {options.action_flag, options.action_kind_flag})
    if (flag->count() == 0) throw CLI::RequiredError(flag->get_name());
  resolve_options(options);
  import_logs(options, options.import, import_csv);
}

/// Files of the Open Bandit Dataset (Saito et al., 2021): users' features and affinities, the item that was shown, and
/// whether it was clicked. What is given besides takes the place of these columns.
void run_open_bandit(ImportOptions& options) {
  if (options.action_kind.empty()) options.action_kind = "categorical";
  CsvImport& import = options.import;
  if (import.context.empty() && import.categorical.empty() && !std::filesystem::exists(import.encoding)) {
    import.context = {"user_feature_*", "user-item_affinity_*"};
    import.categorical = {"user_feature_*"};
  }
  if (import.action.empty()) import.action = {"item_id"};
  if (import.loss.empty() && import.reward.empty()) import.reward = "click";
  if (import.propensity.empty() && import.log_propensity.empty()) import.propensity = "propensity_score";
  resolve_options(options);
  import_logs(options, import, import_csv);
}

/// The arrays that Open Bandit Pipeline's dictionary has, or those that are named.
void run_npz(ImportOptions& options) {
  if (options.files.size() > 1) fail_usage("--format npz takes one archive at a time");
  if (options.action_kind.empty()) options.action_kind = "categorical";
  resolve_options(options);
  const CsvImport& given = options.import;
  if (given.context.size() > 1 || given.action.size() > 1)
    fail_usage("--format npz: --context and --action name one array each");
  if (!given.log_propensity.empty() || !given.label_propensity.empty())
    fail_usage("--format npz takes --propensity, not its logarithm nor those of labels");
  NpzImport import;
  static_cast<ImportOutput&>(import) = given;
  import.file = options.files.front();
  if (!given.context.empty()) import.context = given.context.front();
  if (!given.action.empty()) import.action = given.action.front();
  if (!given.propensity.empty()) import.propensity = given.propensity;
  if (!given.reward.empty()) import.outcome = given.reward;
  if (!given.loss.empty()) {
    if (!given.reward.empty()) fail_usage("--loss and --reward-column exclude each other");
    import.outcome = given.loss;
    import.outcome_kind = Outcome::loss;
  }
  import.targets = given.targets;
  import.cluster = given.cluster;
  import.action_kind = given.action_kind;
  import.num_actions = given.num_actions;
  import.float32 = given.float32;
  import_logs(options, import, import_npz);
}

/// Of the options of logs, those that say how to read a file hold for labelled data too.
void resolve_labelled_csv(ImportOptions& options) {
  for (const CLI::Option* flag : options.csv_flags) {
    const std::string name = flag->get_name();
    if (flag->count() == 0 || name == "--context" || name == "--delimiter") continue;
    fail_usage(
        fmt::format("{} is about logs; with --class the file becomes a labelled data set, which has none", name));
  }
  options.labelled.options.context = options.import.context;
  options.labelled.options.delimiter =
      parse_delimiter(options.delimiter.empty() ? usual_delimiter(options.files.front()) : options.delimiter);
}

void run(ImportOptions& options) {
  const LabelledFlags& labelled = options.labelled_flags;
  for (std::string& file : options.files) file = input_path(file);
  if (options.format.empty()) options.format = format_of(options.files.front());
  if (options.format.empty()) throw CLI::RequiredError("--format");
  const bool logs = makes_logs(options.format);
  // A class makes a labelled data set of a CSV file too.
  const bool labelled_csv = options.format == "csv" && labelled.class_column->count() > 0;
  if (logs) reject_flags(labelled.both, options.format, "arff or libsvm");
  if (logs) reject_flags({labelled.multiclass}, options.format, "arff or libsvm; name the column with --class");
  if (!logs) reject_flags(options.csv_flags, options.format, "csv");
  if (options.format == "npz") reject_flags(options.text_flags, options.format, "csv");
  if (options.format != "arff") reject_flags(labelled.arff, options.format, "arff");
  if (options.format != "libsvm") reject_flags(labelled.libsvm, options.format, "libsvm");
  if (options.format == "csv" && !labelled_csv) return run_csv(options);
  if (options.format == "obd") return run_open_bandit(options);
  if (options.format == "npz") return run_npz(options);
  if (labelled_csv) resolve_labelled_csv(options);
  prepare_output(options, false);
  options.labelled.files = options.files;
  options.labelled.out = options.out;
  options.labelled.gzip = options.compress == "gzip";
  run_labelled_import(options.labelled,
                      labelled_csv               ? LabelledFormat::csv
                      : options.format == "arff" ? LabelledFormat::arff
                                                 : LabelledFormat::libsvm,
                      options.common);
}

}  // namespace

void add_import_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "import", "Bring logs (CSV, NPZ) into shards, labelled data (ARFF, LIBSVM, CSV) into a data set");
  const auto options = std::make_shared<ImportOptions>();
  add_import_options(*command, *options);
  command->callback([options] { run(*options); });
}

}  // namespace scrm
