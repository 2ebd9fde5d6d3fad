#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "report/acted_csv.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/memory_ledger.hpp"
#include "scrm/engine/policy_kind.hpp"
#include "scrm/engine/read_policy.hpp"
#include "scrm/engine/shard_source.hpp"
#include "scrm/engine/write_shards.hpp"
#include "scrm/experiments/acting_source.hpp"
#include "scrm/io/atomic_file.hpp"
#include "scrm/io/atomic_folder.hpp"
#include "scrm/io/csv_contexts.hpp"
#include "scrm/io/error.hpp"
#include "scrm/io/path_checks.hpp"

namespace scrm {
namespace {

namespace fs = std::filesystem;

struct ActCommand {
  CommonOptions common;
  std::string policy;
  std::vector<std::string> contexts;
  std::vector<std::string> columns;  ///< of a CSV file
  RolloutKey rollout_key;
  std::string out;
  std::string csv;
  int shards = 1;
  std::string compress = "none";
  std::int64_t chunk_rows = 0;
  std::string action_kind;
  int num_actions = 0;
  bool overwrite = false;
};

void validate_options(const ActCommand& command, const Policy& policy) {
  if (command.out.empty() == command.csv.empty()) {
    fail_usage(command.out.empty() ? "--out is missing: name a folder for the shards (or a CSV file with --csv)"
                                   : "--out and --csv exclude each other");
  }
  if (!command.csv.empty() && (command.shards != 1 || command.compress != "none" || command.chunk_rows != 0)) {
    fail_usage("--shards, --compress and --chunk-rows are for shards, not for --csv");
  }
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
  for (const std::string& path : command.contexts) {
    if (command.columns.empty() && fs::path(path).extension() == ".csv") {
      fail_usage(fmt::format(
          "--contexts {}: name the columns of a CSV file with --context, for instance --context 'x*'", path));
    }
  }
}

/// Fails where the output is there already or is an input.
void prepare_output(const ActCommand& command) {
  std::vector<std::string> inputs = command.contexts;
  inputs.push_back(command.policy);
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
    file_.emplace(command.csv);
  }

  void write(Source& source) {
    const PassOptions pass = command_.common.pass("acting");
    if (file_) return write_acted_csv(source, *file_, pass);
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

/// The contexts as shards: those given, or what a CSV file holds, in a folder of its own for as long as this lives.
class Contexts {
 public:
  explicit Contexts(const ActCommand& command) : paths_(command.contexts) {
    if (command.columns.empty()) return;
    require_distinct(paths_);
    std::string beside = command.out.empty() ? command.csv : command.out;
    while (beside.size() > 1 && beside.back() == '/') beside.pop_back();
    report_leftovers(beside + ".contexts", command.common);
    folder_.emplace(beside + ".contexts", false);
    const Progress bar = progress_bar("reading", command.common.quiet, "bytes");
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const std::string shard = fmt::format("{}/part-{:05}.h5", folder_->temporary_path(), i);
      const auto on_bytes = [&](std::int64_t done, std::int64_t total) {
        if (bar && total > 0) bar(done, total);
      };
      const std::size_t memory = MemoryLedger::of_process(command.common.memory).left();
      folder_->write([&] { import_csv_contexts(paths_[i], command.columns, shard, on_bytes, memory); });
      paths_[i] = shard;
    }
  }

  Dataset open() const { return Dataset(paths_, {.contexts_only = true}); }
  /// Runs what reads them; errors do not name the folder that nobody will see.
  void read(const std::function<void()>& action) const { folder_ ? folder_->write(action) : action(); }

 private:
  std::vector<std::string> paths_;
  std::optional<AtomicFolder> folder_;
};

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
  return fmt::format("{} {}, taken {}{} times", with_commas(schema.num_actions),
                     schema.action_kind == ActionKind::categorical ? "actions" : "labels", fmt::join(counts, " / "),
                     cut ? " / ..." : "");
}

/// The command that brings the file back once a column `loss` has been added.
std::string import_text(const ActCommand& command, const Schema& schema) {
  std::vector<std::string> names[2];  // of actions and of their propensities
  for (int k = 0; schema.action_kind == ActionKind::multilabel && k < schema.num_actions; ++k) {
    names[0].push_back(fmt::format("action_{}", k));
    names[1].push_back(fmt::format("label_propensity_{}", k));
  }
  if (names[0].empty()) names[0].emplace_back("action");
  std::string text = fmt::format("scrm import {} --format csv --out logs --action-kind {}", command.csv,
                                 to_string(schema.action_kind));
  if (schema.action_kind == ActionKind::categorical) text += fmt::format(" --num-actions {}", schema.num_actions);
  if (schema.features > 0) text += " --context 'x*'";
  text += fmt::format(" --action {} --loss loss", fmt::join(names[0], ","));
  text += schema.propensity == PropensityForm::linear ? " --propensity propensity" : " --log-propensity log_propensity";
  if (schema.label_propensity) text += fmt::format(" --label-propensity {}", fmt::join(names[1], ","));
  if (command.rollout_key.rollout > 0) text += fmt::format(" --rollout {}", command.rollout_key.rollout);
  return text;
}

void print_json(const ActCommand& command, const Schema& schema, const ActionTotals& totals, double seconds) {
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
  fmt::print("{}\n", json_text(result));
}

void print_summary(const ActCommand& command, const Schema& schema, const ActionTotals& totals, double seconds) {
  const bool csv = !command.csv.empty();
  const std::string where = csv ? command.csv : fmt::format("{} ({})", command.out, counted(command.shards, "shard"));
  fmt::print("{} on {} with {}: {}\n", styled("acted", Style::good), counted(totals.rows, "row"),
             printable(command.policy), printable(where));
  fmt::print("      {}, {}, {}\n", counted(schema.features, "feature"), actions_text(schema, totals),
             human_seconds(seconds));
  if (schema.action_kind == ActionKind::multilabel && !schema.label_propensity) {
    fmt::print(
        "      without label_propensity: epsilon is mixed in jointly, so bits are not independent (mixing = \"label\" "
        "in the policy would make them so)\n");
  }
  fmt::print("next: {}, then\n      {}\n",
             csv ? "record what happened to each row in a column named loss"
                 : "record what happened to each row in a dataset named loss of its shard",
             styled(csv ? import_text(command, schema)
                        : fmt::format("scrm evaluate {} --policy {}", command.out, command.policy),
                    Style::strong));
}

void act(const ActCommand& command, const Policy& policy, const Contexts& files, Output& output,
         const Stopwatch& watch) {
  ShardSource contexts(files.open());
  const ActionKind kind = command.action_kind == "multilabel" ? ActionKind::multilabel : ActionKind::categorical;
  const Schema schema = acted_schema(policy, contexts.schema(), kind, command.num_actions);
  ActingSource source(contexts, schema, policy, command.policy, command.rollout_key);
  try {
    output.write(source);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::data) require_clean_contexts(contexts, command.common.pass("checking"));
    throw;
  }
  const ActionTotals totals = source.totals();
  output.commit();
  const double seconds = watch.seconds();
  command.common.json ? print_json(command, schema, totals, seconds) : print_summary(command, schema, totals, seconds);
}

void run_act(const ActCommand& command) {
  const Stopwatch watch;
  const Policy policy = read_policy(command.policy, MemoryLedger::of_process(command.common.memory).left());
  validate_options(command, policy);
  prepare_output(command);
  Output output(command);
  const Contexts files(command);
  files.read([&] { act(command, policy, files, output, watch); });
}

void add_output_options(CLI::App& app, ActCommand& command) {
  app.add_option("--out", command.out, "Folder for the shards; must be new or empty")->type_name("DIR");
  app.add_option("--csv", command.csv, "Instead of --out: one CSV file")->type_name("FILE");
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
      "  scrm act policy.toml --contexts customers.csv --context age,visits --seed 1 --csv next.csv");
  app.add_option("policy", command->policy, "The policy that acts")->required()->type_name("FILE");
  app.add_option("--contexts", command->contexts, "Shards, or folders of them; only `context` is read. Or CSV files")
      ->required()
      ->type_name("DATA");
  app.add_option("--context", command->columns,
                 "Columns of CSV files that are features: names, ranges first:last, prefixes x*")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B,...");
  app.add_option("--seed", command->rollout_key.seed, "Seed of all randomness")->required()->type_name("S");
  add_rollout_option(app, command->rollout_key.rollout, "Number of the deployment; default 0");
  app.add_option("--action-kind", command->action_kind, "Uniform policies: categorical or multilabel")
      ->check(CLI::IsMember({"categorical", "multilabel"}))
      ->type_name("KIND");
  app.add_option("--num-actions", command->num_actions, "Uniform policies: how many actions or labels")
      ->check(CLI::Range(1, kMaxActions))
      ->type_name("K");
  add_output_options(app, *command);
  add_common_options(app, command->common);
  app.callback([command] { run_act(*command); });
}

}  // namespace scrm
