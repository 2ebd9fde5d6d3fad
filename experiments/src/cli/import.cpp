#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/import/labelled_import.hpp"
#include "cli/options/context_files.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/import_text.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/import/csv_import.hpp"
#include "scrm/io/import/npz_import.hpp"

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
  std::string delimiter;  ///< empty: as the file's name says
  std::string compress;
  std::string unseen;
  std::string impute;
  std::vector<std::string> targets;

  // What was given on the command line is known to these.
  std::vector<const CLI::Option*> csv_flags;
  std::vector<const CLI::Option*> text_flags;  // those of csv_flags that arrays have no use for
  LabelledFlags labelled_flags;
  const CLI::Option* action_flag = nullptr;
  const CLI::Option* action_kind_flag = nullptr;
};

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

void add_column_options(CLI::App& command, ImportOptions& options) {
  CsvImport& import = options.import;
  const char* group = "Columns of csv (by their names in the header)";
  command.add_option("--context", import.context, "Features: names, ranges first:last, prefixes x*; default none")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B,...")
      ->group(group);
  options.action_flag =
      command
          .add_option("--action", import.action,
                      "The logged action; for multilabel, one 0/1 column for each label (patterns too)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("COLUMN")
          ->group(group);
  command.add_option("--loss", import.loss, "What happened, smaller is better")->type_name("COLUMN")->group(group);
  command.add_option("--reward-column", import.reward, "Instead of --loss: larger is better; results are rewards too")
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
                  "Probability or density of the logged action under another policy; repeatable. '*=p_*': one for "
                  "each column p_..., named by what the star stands for")
      ->allow_extra_args(false)
      ->type_name("NAME=COLUMN")
      ->group(group);
  command
      .add_option("--cluster", import.cluster,
                  "Rows with one value (a user, a session) are not independent of each other. Integers are kept, any "
                  "other text becomes a hash of 63 bits, the same in every file. npz: an array of integers, default "
                  "`cluster` where there is one")
      ->type_name("COLUMN")
      ->group(group);
}

void add_encoding_options(CLI::App& command, ImportOptions& options) {
  CsvImport& import = options.import;
  const char* group = "Encoding of csv (dates such as 2026-01-31 are days since 1970)";
  command
      .add_option("--categorical", import.categorical,
                  "Columns of categories: a feature for each value (of --context, or added to it). Of the action: its "
                  "values are names, even where they are numbers")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B,...")
      ->group(group);
  command
      .add_option("--unseen", options.unseen,
                  "A category that the encoding does not have: other (default) gives it a feature, error refuses it")
      ->check(CLI::IsMember({"other", "error"}))
      ->type_name("other|error")
      ->group(group);
  command
      .add_option("--impute", options.impute,
                  "What stands for missing features: mean, zero (with one more feature that says where), or error "
                  "(default)")
      ->check(CLI::IsMember({"mean", "zero", "error"}))
      ->type_name("mean|zero|error")
      ->group(group);
  command
      .add_option("--encoding", import.encoding,
                  "The recipe: written where the file is not there, else used unchanged, for the next day's log and by "
                  "act")
      ->type_name("FILE")
      ->group(group);
}

void add_other_options(CLI::App& command, ImportOptions& options) {
  CsvImport& import = options.import;
  options.action_kind_flag =
      command.add_option("--action-kind", options.action_kind, "continuous, categorical or multilabel")
          ->check(CLI::IsMember({"continuous", "categorical", "multilabel"}))
          ->type_name("KIND");
  command
      .add_option("--num-actions", import.num_actions,
                  "Categorical: how many; default the largest in the file + 1, or as many as there are names")
      ->check(CLI::PositiveNumber)
      ->type_name("K");
  command
      .add_option("--delimiter", options.delimiter,
                  "Between fields; 'tab' for tabulators, which .tsv files have; default a comma")
      ->type_name("CHAR");
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
  CLI::App* command = program.add_subcommand(
      "import", "Bring logs (CSV, NPZ) into shards, labelled data (ARFF, LIBSVM, CSV) into a data set");
  const auto options = std::make_shared<ImportOptions>();
  command
      ->add_option("file", options->files,
                   "The file, gzip-compressed or not; /dev/stdin reads from a pipe. Several make one data set, their "
                   "columns matched by name")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--format", options->format,
                   "csv: logs, or labelled data with --class; obd: CSV files of the Open Bandit Dataset; npz: the "
                   "dictionary of Open Bandit Pipeline, saved "
                   "with numpy.savez (context, action, reward, pscore; options of columns name other arrays); arff, "
                   "libsvm: labelled data. Default as the file's name says")
      ->check(CLI::IsMember({"csv", "obd", "npz", "arff", "libsvm"}))
      ->type_name("FORMAT");
  command->add_option("--out", options->out, "An .h5 file; csv: or a folder for part-00000.h5, part-00001.h5, ...")
      ->required()
      ->type_name("PATH");
  command->add_flag("--overwrite", options->import.overwrite,
                    "Replace a file, or a folder of shards, that is there already");
  add_compress_option(*command, options->compress, "gzip: smaller files, slower to write");
  options->csv_flags = options_added(*command, [&] {
    add_column_options(*command, *options);
    options->text_flags = options_added(*command, [&] { add_encoding_options(*command, *options); });
    add_other_options(*command, *options);
  });
  options->labelled_flags = add_labelled_options(*command, options->labelled);
  add_common_options(*command, options->common);
  command->footer(
      "Example:\n"
      "  scrm import shop.csv --out logs --action-kind categorical --context age,visits \\\n"
      "      --categorical city --impute mean --encoding shop.toml \\\n"
      "      --action item --reward-column revenue --propensity p\n"
      "  scrm import monday.csv.gz tuesday.csv.gz --out next --action-kind categorical --action item \\\n"
      "      --reward-column revenue --propensity p --encoding shop.toml\n"
      "  scrm import clicks.csv --out logs --action-kind categorical --num-actions 5 --context 'x*' \\\n"
      "      --action shown --loss cost --propensity p --target '*=p_*'\n"
      "  scrm import men.csv --format obd --out logs\n"
      "  scrm import feedback.npz --out logs\n"
      "  scrm import scene-train.arff scene-test.arff --label-xml scene.xml --out scene.h5\n"
      "  scrm import flowers.csv --class species --out flowers.h5");
  command->callback([options] { run(*options); });
}

}  // namespace scrm
