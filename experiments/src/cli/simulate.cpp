#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/pass/write_shards.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/policy/read_policy.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/experiments/simulated_source.hpp"
#include "scrm/io/file/atomic_folder.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"

namespace scrm {

namespace {

struct SimulateCommand {
  CommonOptions common;
  std::string environment;
  SimulateOptions rows;
  WriteOptions write;
  int actions = 0;
  int shards = 1;
  std::string out;
  std::string policy;
  std::string policy_out;
  std::string compress = "none";
  bool overwrite = false;
  CLI::Option* density = nullptr;
};

std::int64_t folder_bytes(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes += static_cast<std::int64_t>(entry.file_size());
  }
  return bytes;
}

void validate_options(const SimulateCommand& command, const Environment& environment) {
  if (command.actions > 0 && environment.num_actions() == 0) {
    fail_usage(
        fmt::format("--actions is for environments with a choice among actions; those of {} "
                    "are continuous",
                    command.environment));
  }
  if (command.density->count() > 0 && command.rows.sparse_features == 0) {
    fail_usage("--density needs --sparse-features, the number of features it is about");
  }
}

void print_result(const SimulateCommand& command, const Schema& schema, std::int64_t bytes, double seconds) {
  if (command.common.json) {
    const nlohmann::ordered_json result = {
        {"rows", command.rows.rows},   {"shards", command.shards},
        {"features", schema.features}, {"action_kind", to_string(schema.action_kind)},
        {"out", command.out},          {"bytes", bytes},
        {"seconds", seconds}};
    fmt::print("{}\n", json_text(result));
    return;
  }
  const double rate = static_cast<double>(command.rows.rows) / seconds;
  fmt::print("{} {} of {} in {} ({}), {}\n", styled("wrote", Style::good), counted(command.rows.rows, "row"),
             command.environment, counted(command.shards, "shard"), human_bytes(static_cast<double>(bytes)),
             printable(command.out));
  fmt::print("      {}, {} actions, {} ({} rows/s)\n", counted(schema.features, "feature"),
             to_string(schema.action_kind), human_seconds(seconds), human_number(rate));
  fmt::print("next: {}\n", styled(fmt::format("scrm inspect {}", shell_word(command.out)), Style::strong));
}

/// Fails where an output is there already or is the policy that logs.
void prepare_outputs(const SimulateCommand& command) {
  std::vector<std::string> inputs;
  if (!command.policy.empty()) inputs.push_back(command.policy);
  prepare_output_folder(command.out, inputs, command.common);
  if (!command.policy_out.empty()) prepare_output_file(command.policy_out, inputs, command.overwrite, command.common);
}

void run_simulate(SimulateCommand& command) {
  const Stopwatch watch;
  // Of the policy, and of what draws a row: so much for each feature, however few of them a row has.
  constexpr std::size_t kFeatureBytes = 48;
  MemoryLedger::of_process(command.common.memory)
      .charge(static_cast<std::size_t>(command.rows.sparse_features) * kFeatureBytes,
              fmt::format("a policy over {} sparse features", command.rows.sparse_features), "fewer --sparse-features");
  const std::shared_ptr<const Environment> environment =
      make_environment(command.environment, {command.rows.rollout_key.seed, command.actions});
  validate_options(command, *environment);
  prepare_outputs(command);
  const Policy policy = command.policy.empty()
                            ? first_policy(*environment, command.rows)
                            : read_policy(command.policy, MemoryLedger::of_process(command.common.memory).left());
  SimulatedSource source(environment, policy, command.policy.empty() ? command.environment : command.policy,
                         command.rows);

  command.write.gzip = command.compress == "gzip";
  command.write.rollout = command.rows.rollout_key.rollout;
  command.write.attributes = {{"environment", command.environment},
                              {"seed", std::to_string(command.rows.rollout_key.seed)}};
  AtomicFolder folder(command.out, command.overwrite);
  folder.write([&] {
    write_shards(source, plan_shards(folder.temporary_path(), command.rows.rows, command.shards), command.write,
                 command.common.pass("simulating"));
  });
  const std::int64_t bytes = folder_bytes(folder.temporary_path());
  if (!command.policy_out.empty()) {
    write_policy(command.policy_out, policy, "the policy that logged " + command.out);
  }
  folder.commit();
  print_result(command, source.schema(), bytes, watch.seconds());
}

std::string environment_help() {
  std::string text = "Environments:\n";
  for (const EnvironmentEntry& entry : environments()) {
    text += fmt::format("  {:<13}{}\n", entry.name, entry.description);
  }
  return text;
}

}  // namespace

void add_simulate_command(CLI::App& program) {
  auto command = std::make_shared<SimulateCommand>();
  CLI::App& app = *program.add_subcommand("simulate", "Write logs of a built-in environment");
  app.footer(environment_help() +
             "\nExample:\n  scrm simulate pricing --rows 100000 --seed 1 --out logs --shards 4 --compress gzip");
  std::vector<std::string> names;
  for (const EnvironmentEntry& entry : environments()) names.emplace_back(entry.name);
  suggest(app.add_option("environment", command->environment, "Which environment; see below"),
          [names] { return names; })
      ->required()
      ->type_name("ENV");
  app.add_option("--rows", command->rows.rows, "Rows to log")
      ->required()
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 48))
      ->type_name("N");
  app.add_option("--out", command->out, "Folder for the shards; must be new or empty")->required()->type_name("DIR");
  app.add_option("--seed", command->rows.rollout_key.seed, "Seed of all randomness; default 0")->type_name("S");
  add_shards_option(app, command->shards);
  app.add_option("--policy", command->policy, "Policy that logs; default the environment's first one")
      ->type_name("FILE");
  app.add_option("--policy-out", command->policy_out, "Also write the policy that logged, as a policy file")
      ->type_name("FILE");
  add_rollout_option(app, command->rows.rollout_key.rollout, "Number of the deployment; another one has other rows");
  app.add_option("--actions", command->actions, "Categories or labels (categorical, multilabel)")
      ->check(CLI::Range(1, kMaxActions))
      ->type_name("K");
  add_compress_option(app, command->compress, "gzip (shuffle + deflate) or none");
  add_chunk_rows_option(app, command->write.chunk_rows);
  app.add_flag("--float32", command->rows.float32, "Contexts as float32; contexts and actions are rounded first");
  app.add_option("--sparse-features", command->rows.sparse_features, "Add D features without meaning, stored sparsely")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{2000000000}))
      ->type_name("D");
  command->density = app.add_option("--density", command->rows.density, "Share of them present in a row; default 0.01")
                         ->check(CLI::Range(0.0, 1.0))
                         ->type_name("P");
  app.add_flag("--overwrite", command->overwrite,
               "Replace a folder of shards, or a policy file, that is there already");
  add_common_options(app, command->common);
  app.callback([command] { run_simulate(*command); });
}

}  // namespace scrm
