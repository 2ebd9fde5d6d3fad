#include "cli/import/import_options.hpp"

#include "cli/options/choice.hpp"

namespace scrm {
namespace {

void add_column_options(CLI::App& command, ImportOptions& options) {
  CsvImport& import = options.import;
  const char* group = "Columns of csv (by their names in the header)";
  command
      .add_option(
          "--context", import.context,
          "Features: names (with a comma in one: in double quotes), ranges first:last, prefixes x*; default none")
      ->allow_extra_args(false)
      ->type_name("A,B,...")
      ->group(group);
  options.action_flag =
      command
          .add_option("--action", import.action,
                      "The logged action; for multilabel, one 0/1 column for each label (patterns too)")
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
  command
      .add_option("--label-propensity", import.label_propensity,
                  "Multilabel: probability of each logged bit. 'q_*' beside --action 'tag_*': paired by what the "
                  "stars stand for, where that is the same")
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
      ->allow_extra_args(false)
      ->type_name("A,B,...")
      ->group(group);
  command
      .add_option("--unseen", options.unseen,
                  "A category that the encoding does not have: other (default) gives it a feature, error refuses it")
      ->check(one_of({"other", "error"}))
      ->type_name("other|error")
      ->group(group);
  command
      .add_option("--impute", options.impute,
                  "What stands for missing features: mean, zero (with one more feature that says where), or error "
                  "(default)")
      ->check(one_of({"mean", "zero", "error"}))
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
          ->check(one_of({"continuous", "categorical", "multilabel"}))
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

void add_import_options(CLI::App& command, ImportOptions& options) {
  command
      .add_option("file", options.files,
                  "The file, gzip-compressed or not; - reads the standard input. Several make one data set, their "
                  "columns matched by name")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--format", options.format,
                  "csv: logs, or labelled data with --class; obd: CSV files of the Open Bandit Dataset; npz: the "
                  "dictionary of Open Bandit Pipeline, saved "
                  "with numpy.savez (context, action, reward, pscore; options of columns name other arrays); arff, "
                  "libsvm: labelled data. Default as the file's name says")
      ->check(one_of({"csv", "obd", "npz", "arff", "libsvm"}))
      ->type_name("FORMAT");
  command.add_option("--out", options.out, "An .h5 file; csv: or a folder for part-00000.h5, part-00001.h5, ...")
      ->required()
      ->type_name("PATH");
  command.add_flag("--overwrite", options.import.overwrite,
                   "Replace a file, or a folder of shards, that is there already");
  add_compress_option(command, options.compress, "gzip: smaller files, slower to write");
  options.csv_flags = options_added(command, [&] {
    add_column_options(command, options);
    options.text_flags = options_added(command, [&] { add_encoding_options(command, options); });
    add_other_options(command, options);
  });
  options.labelled_flags = add_labelled_options(command, options.labelled);
  add_common_options(command, options.common);
  command.footer(
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
}

}  // namespace scrm
