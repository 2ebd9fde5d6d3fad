#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/options/context_files.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/inspection.hpp"
#include "report/learning/acting_text.hpp"
#include "report/terminal.hpp"
#include "report/text/import_text.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/pass/write_shards.hpp"
#include "scrm/engine/policy/match_names.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/policy/read_policy.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/experiments/acting_source.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/atomic_folder.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/io/import/csv_contexts.hpp"
#include "task/acted_csv.hpp"
#include "task/unnamed_inputs.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

struct ActCommand {
  CommonOptions common;
  std::string policy;
  ContextInputs inputs;
  RolloutKey rollout_key;
  std::string out;
  std::string csv;
  int shards = 1;
  std::string compress = "none";
  std::int64_t chunk_rows = 0;
  std::string action_kind;
  int num_actions = 0;
  bool overwrite = false;

  bool to_stdout() const { return csv == "-"; }
};

/// What a policy chooses among that does not say it by itself.
ActionKind action_kind(const ActCommand& command) {
  return command.action_kind == "multilabel" ? ActionKind::multilabel : ActionKind::categorical;
}

void validate_csv_options(const ActCommand& command) {
  if (command.out == "-") fail_usage("--out names a folder of shards; --csv - writes to the standard output");
  if (command.to_stdout() && command.common.json)
    fail_usage("--csv - and --json both write to the standard output; name a file with --csv");
  if (!command.inputs.keep.empty() && (command.csv.empty() || !command.inputs.csv()))
    fail_usage("--keep is for contexts from CSV files whose actions go to --csv");
  if (!command.inputs.columns.empty() && !command.inputs.encoding.empty())
    fail_usage("--context and --encoding exclude each other: the encoding names its columns");
}

void validate_options(const ActCommand& command, const Policy& policy) {
  if (command.out.empty() == command.csv.empty()) {
    fail_usage(command.out.empty() ? "--out is missing: name a folder for the shards (or a CSV file with --csv)"
                                   : "--out and --csv exclude each other");
  }
  if (!command.csv.empty() && (command.shards != 1 || command.compress != "none" || command.chunk_rows != 0)) {
    fail_usage("--shards, --compress and --chunk-rows are for shards, not for --csv");
  }
  require_columns(command.inputs);
  validate_csv_options(command);
  const bool says_actions = says_its_actions(policy);
  if (!says_actions && (command.action_kind.empty() || command.num_actions == 0)) {
    fail_usage(
        fmt::format("{}: a {} policy does not say what it chooses among: give --action-kind categorical (or "
                    "multilabel) and --num-actions K",
                    command.policy, policy.kind.name()));
  }
  if (says_actions && (!command.action_kind.empty() || command.num_actions != 0)) {
    fail_usage(fmt::format("--action-kind and --num-actions are for uniform policies; {} is {} and says it itself",
                           command.policy, policy.kind.name()));
  }
}

/// Fails where the output is there already or is an input.
void prepare_output(const ActCommand& command) {
  std::vector<std::string> inputs = command.inputs.paths;
  inputs.push_back(command.policy);
  if (!command.inputs.encoding.empty()) inputs.push_back(command.inputs.encoding);
  if (command.to_stdout()) return;
  if (command.csv.empty()) {
    prepare_output_folder(command.out, inputs, command.common);
  } else {
    prepare_output_file(command.csv, inputs, command.overwrite, command.common);
  }
}

/// Where rows go: a folder of shards or a CSV file, which appears when all is well.
class Output {
 public:
  explicit Output(const ActCommand& command) : command_(command) {
    if (command.csv.empty()) {
      folder_.emplace(command.out, command.overwrite);
      return;
    }
    if (!command.to_stdout()) file_.emplace(command.csv);
  }

  /// `csv` says what a CSV file has besides the rows.
  void write(Source& source, ActedCsv csv) {
    const PassOptions pass = command_.common.pass("acting");
    if (!folder_) {
      csv.file = file_ ? &*file_ : nullptr;
      return write_acted_csv(source, csv, pass);
    }
    WriteOptions write;
    write.gzip = command_.compress == "gzip";
    write.chunk_rows = command_.chunk_rows;
    write.rollout = command_.rollout_key.rollout;
    write.attributes = {{"policy", fs::path(command_.policy).filename().string()},
                        {"seed", std::to_string(command_.rollout_key.seed)}};
    folder_->write([&] {
      write_shards(source, plan_shards(folder_->temporary_path(), source.rows(), command_.shards), write, pass);
    });
  }

  void commit() {
    if (file_) file_->commit();
    if (folder_) folder_->commit();
  }

 private:
  const ActCommand& command_;
  std::optional<AtomicFolder> folder_;
  std::optional<AtomicFile> file_;
};

/// The actions' names that the policy or the encoding has; where both have some, they must be the same but for line
/// breaks, which only the encoding has: its names are those of the file that rows will be imported from.
std::vector<std::string> action_names(const ActCommand& command, const ContextFiles& files, const Schema& schema) {
  if (schema.action_kind != ActionKind::categorical) return {};
  if (!files.encoding()) return schema.action_names;
  const std::vector<std::string>& known = files.encoding()->actions;
  const int actions = files.encoding()->num_actions;
  const std::vector<std::string> encoded = one_line_names(known), wanted = one_line_names(schema.action_names);
  const bool others = !encoded.empty() && !wanted.empty() &&
                      !std::is_permutation(encoded.begin(), encoded.end(), wanted.begin(), wanted.end());
  if (others || (actions > 0 && actions != schema.num_actions))
    throw Error(ErrorKind::usage,
                fmt::format("the encoding has other actions ({}) than the policy {} ({})", actions, command.policy,
                            schema.num_actions),
                {.file = command.inputs.encoding});
  if (known.empty()) return schema.action_names;
  if (wanted.empty()) return known;
  std::vector<std::string> names;
  for (const std::string& name : wanted)
    names.push_back(known[static_cast<std::size_t>(std::find(encoded.begin(), encoded.end(), name) - encoded.begin())]);
  return names;
}

/// Threads meet bad rows in any order: this finds the first, and counts all of them.
void require_clean_contexts(Source& contexts, const PassOptions& options) {
  const auto nothing = [](const auto&, auto&) {};
  const auto merge = [](auto&, const auto&) {};
  require_no_bad_rows(run_pass(contexts, char{0}, nothing, merge, options).second, false);
}

std::string actions_text(const Schema& schema, const ActionTotals& totals) {
  if (schema.action_kind == ActionKind::continuous) {
    return fmt::format("continuous actions, mean {}", human_number(totals.sum / static_cast<double>(totals.rows)));
  }
  constexpr std::size_t kMaxShown = 12;
  std::vector<std::string> counts;
  for (const std::int64_t count : totals.counts) counts.push_back(with_commas(count));
  const bool cut = counts.size() > kMaxShown;
  if (cut) counts.resize(kMaxShown);
  return fmt::format("{}, taken {}{} times",
                     counted(schema.num_actions, schema.action_kind == ActionKind::categorical ? "action" : "label"),
                     fmt::join(counts, " / "), cut ? " / ..." : "");
}

/// The command that brings the file back once a column `loss` has been added.
std::string import_command(const ActCommand& command, const Schema& schema) {
  std::vector<std::string> actions{"action"}, propensities;
  if (schema.action_kind == ActionKind::multilabel) actions = label_columns(schema);
  for (int k = 0; k < schema.num_actions; ++k) propensities.push_back(fmt::format("label_propensity_{}", k));
  std::string text = fmt::format("scrm import {} --format csv --out logs --action-kind {}", shell_word(command.csv),
                                 to_string(schema.action_kind));
  if (!command.inputs.encoding.empty()) {
    text += fmt::format(" --encoding {}", shell_word(command.inputs.encoding));
  } else {
    // Names say by themselves how many there are.
    if (schema.action_kind == ActionKind::categorical && schema.action_names.empty())
      text += fmt::format(" --num-actions {}", schema.num_actions);
    for (const std::string& list : command.inputs.columns) text += " --context " + shell_word(list);
    if (!command.inputs.csv() && schema.features > 0)
      text += " --context " + shell_word(schema.context_columns.empty() ? "x*" : column_list(schema.context_columns));
  }
  text += fmt::format(" --action {} --loss loss", shell_word(column_list(actions)));
  text += schema.propensity == PropensityForm::linear ? " --propensity propensity" : " --log-propensity log_propensity";
  if (schema.label_propensity) text += fmt::format(" --label-propensity {}", fmt::join(propensities, ","));
  if (command.rollout_key.rollout > 0) text += fmt::format(" --rollout {}", command.rollout_key.rollout);
  return text;
}

void print_json(const ActCommand& command, const ContextFiles& files, const Schema& schema, const ActionTotals& totals,
                double seconds) {
  nlohmann::ordered_json result = {{"rows", totals.rows},
                                   {"shards", command.csv.empty() ? command.shards : 0},
                                   {"features", schema.features},
                                   {"action_kind", to_string(schema.action_kind)},
                                   {"out", command.csv.empty() ? command.out : command.csv},
                                   {"seconds", seconds}};
  if (schema.action_kind == ActionKind::continuous) {
    // No rows have no mean: NaN is null in JSON.
    result["mean_action"] = totals.sum / static_cast<double>(totals.rows);
  } else {
    result["num_actions"] = schema.num_actions;
    result["counts"] = totals.counts;
  }
  if (schema.action_kind == ActionKind::multilabel) result["label_propensity"] = schema.label_propensity;
  if (command.inputs.csv()) {
    result["filled_holes"] = files.filled_holes();
    result["other_levels"] = files.other_levels();
  }
  fmt::print("{}\n", json_text(result));
}

void print_summary(const ActCommand& command, const ContextFiles& files, const Schema& schema,
                   const ActionTotals& totals, double seconds) {
  const bool csv = !command.csv.empty();
  const std::string where = csv ? command.csv : fmt::format("{} ({})", command.out, counted(command.shards, "shard"));
  fmt::print("{} on {} with {}: {}\n", styled("acted", Style::good), counted(totals.rows, "row"),
             printable(command.policy), printable(where));
  fmt::print("      {}, {}, {}\n", counted(schema.features, "feature"), actions_text(schema, totals),
             human_seconds(seconds));
  for (const std::string& line : substitution_lines(files.filled_holes(), files.other_levels()))
    fmt::print("      {}\n", line);
  if (schema.action_kind == ActionKind::multilabel && !schema.label_propensity) {
    fmt::print(
        "      without label_propensity: epsilon is mixed in jointly, so bits are not independent (mixing = \"label\" "
        "in the policy would make them so)\n");
  }
  fmt::print(
      "next: {}, then\n      {}\n",
      csv ? "record what happened to each row in a column named loss (a reward: with --reward-column for --loss)"
          : "record what happened to each row in a dataset named loss of its shard (rewards: with the attribute "
            "outcome = \"reward\")",
      styled(csv ? import_command(command, schema)
                 : fmt::format("scrm evaluate {} --policy {}", shell_word(command.out), shell_word(command.policy)),
             Style::strong));
}

void act(const ActCommand& command, const Policy& written, const ContextFiles& files, Output& output,
         const Stopwatch& watch) {
  ShardSource contexts(files.open());
  const Policy policy = match_names(written, contexts.schema(), command.policy);
  const Schema schema = acted_schema(policy, contexts.schema(), action_kind(command), command.num_actions);
  ActingSource source(contexts, schema, policy, command.policy, command.rollout_key);
  try {
    ActedCsv csv{.action_names = action_names(command, files, schema), .kept_names = files.kept_names()};
    KeptColumns kept(files.kept_files());
    if (!files.kept_files().empty()) csv.kept = &kept;
    output.write(source, std::move(csv));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::data) require_clean_contexts(contexts, command.common.pass("checking"));
    throw;
  }
  const ActionTotals totals = source.totals();
  output.commit();
  const double seconds = watch.seconds();
  if (command.common.json)
    print_json(command, files, schema, totals, seconds);
  else if (!command.to_stdout())
    print_summary(command, files, schema, totals, seconds);
  const std::string hidden = exploration_warning(command.policy, schema, totals);
  if (!hidden.empty()) print_warning(hidden, command.common.quiet);
  if (!contexts.schema().unnamed_columns.empty())
    print_warning(unnamed_columns_warning(contexts.schema()), command.common.quiet);
  const std::string unnamed =
      unnamed_inputs_warning(written, command.policy, contexts.schema(), command.inputs.paths.front());
  if (!unnamed.empty()) print_warning(unnamed, command.common.quiet);
}

void run_act(ActCommand command) {
  const Stopwatch watch;
  const Policy policy = read_policy(command.policy, MemoryLedger::of_process(command.common.memory).left());
  for (std::string& path : command.inputs.paths) path = input_path(path);
  take_policy_inputs(policy.inputs, command.inputs);
  validate_options(command, policy);
  prepare_output(command);
  Output output(command);
  // Beside the output, where there is room for as much; the standard output says nothing about that.
  const std::string beside = command.to_stdout()   ? (fs::temp_directory_path() / "scrm-act").string()
                             : command.csv.empty() ? command.out
                                                   : command.csv;
  ContextInputs inputs = command.inputs;
  Schema contexts;
  contexts.context_columns = policy.inputs;
  inputs.replaced = acted_columns(acted_schema(policy, contexts, action_kind(command), command.num_actions));
  const ContextFiles files(inputs, beside, !command.csv.empty(), command.common);
  files.read([&] { act(command, policy, files, output, watch); });
}

void add_output_options(CLI::App& app, ActCommand& command) {
  app.add_option("--out", command.out, "Folder for the shards; must be new or empty")->type_name("DIR");
  app.add_option("--csv", command.csv, "Instead of --out: one CSV file; - writes to the standard output")
      ->type_name("FILE");
  app.add_option("--keep", command.inputs.keep,
                 "Columns of CSV contexts that stand before the action in --csv: names, ranges, prefixes; default all")
      ->allow_extra_args(false)
      ->type_name("A,B,...");
  add_shards_option(app, command.shards);
  add_compress_option(app, command.compress, "gzip (shuffle + deflate) or none");
  add_chunk_rows_option(app, command.chunk_rows);
  app.add_flag("--overwrite", command.overwrite, "Replace a folder of shards, or a CSV file, that is there already");
}

}  // namespace

void add_act_command(CLI::App& program) {
  auto command = std::make_shared<ActCommand>();
  CLI::App& app = *program.add_subcommand("act", "Draw actions for contexts and record their propensities");
  app.footer(
      "Rows keep their order. What happened to each is recorded next: a dataset (or column) named loss.\n\n"
      "Example:\n"
      "  scrm act policy.toml --contexts customers --seed 1 --out next --rollout 1\n"
      "  scrm act policy.toml --contexts customers.csv --context age,visits --seed 1 --csv next.csv\n"
      "  zcat today.csv.gz | scrm act policy.toml --contexts - --encoding shop.toml --seed 1 --csv -");
  app.add_option("policy", command->policy, "The policy that acts")->required()->type_name("FILE");
  app.add_option(
         "--contexts", command->inputs.paths,
         "Shards, or folders of them; only `context` is read. Or CSV files; - reads one from the standard input")
      ->required()
      ->type_name("DATA");
  app.add_option(
         "--context", command->inputs.columns,
         "Columns of CSV files that are features: names, ranges first:last, prefixes x*; default those that the "
         "policy's inputs name")
      ->allow_extra_args(false)
      ->type_name("A,B,...");
  app.add_option("--encoding", command->inputs.encoding,
                 "How columns of CSV files become features: the file that import --encoding wrote")
      ->type_name("FILE");
  app.add_option("--delimiter", command->inputs.delimiter, "Between fields of CSV files; 'tab' for tabulators")
      ->type_name("CHAR");
  app.add_option("--seed", command->rollout_key.seed, "Seed of all randomness")->required()->type_name("S");
  add_rollout_option(app, command->rollout_key.rollout, "Number of the deployment; default 0");
  app.add_option("--action-kind", command->action_kind, "Uniform policies: categorical or multilabel")
      ->check(one_of({"categorical", "multilabel"}))
      ->type_name("KIND");
  app.add_option("--num-actions", command->num_actions, "Uniform policies: how many actions or labels")
      ->check(CLI::Range(1, kMaxActions))
      ->type_name("K");
  add_output_options(app, *command);
  add_common_options(app, command->common);
  app.callback([command] { run_act(*command); });
}

}  // namespace scrm
