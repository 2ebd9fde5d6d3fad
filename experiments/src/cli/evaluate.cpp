#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/choice.hpp"
#include "cli/command.hpp"
#include "cli/estimator_help.hpp"
#include "cli/logging_policies.hpp"
#include "cli/number_options.hpp"
#include "report/clock.hpp"
#include "report/evaluation_text.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/evaluate.hpp"
#include "scrm/engine/memory_ledger.hpp"
#include "scrm/engine/policy_kind.hpp"
#include "scrm/engine/read_policy.hpp"
#include "scrm/engine/shard_source.hpp"
#include "scrm/io/error.hpp"

namespace scrm {
namespace {

struct EvaluateCommand {
  CommonOptions common;
  std::vector<std::string> data;
  std::vector<std::string> policies;
  std::vector<std::string> targets;
  std::vector<std::string> logging_policies;
  std::string clip = "auto";
  std::string alpha = "auto";
  bool reward = false;
  EvaluateOptions options;
};

std::vector<NamedPolicy> load_policies(const EvaluateCommand& command, const Schema& schema) {
  std::vector<NamedPolicy> policies;
  for (const std::string& path : command.policies) {
    policies.push_back(
        {path,
         make_target_policy(read_policy(path, MemoryLedger::of_process(command.common.memory).left()), schema, path)});
  }
  for (std::size_t t = 0; t < command.targets.size(); ++t) {
    policies.push_back({command.targets[t], make_target_column_policy(static_cast<int>(t))});
  }
  return policies;
}

using LoggingPolicies = std::vector<std::shared_ptr<const TargetPolicy>>;

void add_rollouts(const EvaluateCommand& command, const Dataset& dataset, const LoggingPolicies& logging,
                  const std::vector<NamedPolicy>& policies, EvaluationReport& report) {
  std::vector<std::unique_ptr<ShardSource>> owned;
  std::vector<Source*> sources;
  for (const int rollout : dataset.rollouts()) {
    owned.push_back(std::make_unique<ShardSource>(dataset.rollout(rollout)));
    sources.push_back(owned.back().get());
  }
  add_multiple_importance(sources, logging, policies, command.options, command.common.pass("rollouts"), report);
}

void run_evaluate(EvaluateCommand& command) {
  if (command.policies.empty() && command.targets.empty()) {
    fail_usage("there is no policy to evaluate: give --policy FILE or --target NAME");
  }
  command.options.clip = number_or_auto(command.clip, "--clip");
  command.options.alpha = number_or_auto(command.alpha, "--alpha");
  const Stopwatch watch;
  ReadOptions read;
  read.reward = command.reward;
  read.targets = command.targets;
  ShardSource source(Dataset(command.data, read));
  const std::vector<NamedPolicy> policies = load_policies(command, source.schema());
  LoggingPolicies logging;  // read first: what is wrong with them is known before the pass
  if (!command.logging_policies.empty())
    logging = load_logging_policies(command.logging_policies, source.dataset(), command.common);
  EvaluationReport report = evaluate(source, policies, command.options, command.common.pass("evaluating"));
  if (!logging.empty()) add_rollouts(command, source.dataset(), logging, policies, report);

  EvaluationContext context;
  context.seconds = watch.seconds();
  context.threads = command.common.threads;
  if (command.common.json) {
    fmt::print("{}\n", json_text(evaluation_json(report, context)));
  } else {
    fmt::print("{}", evaluation_text(report, command.options, context));
  }
  for (const PolicyReport& policy : report.policies) {
    for (const std::string& warning : policy.diagnostics.warnings)
      print_warning(fmt::format("{}: {}", policy.name, warning), command.common.quiet);
  }
}

}  // namespace

void add_evaluate_command(CLI::App& program) {
  auto command = std::make_shared<EvaluateCommand>();
  CLI::App& app = *program.add_subcommand("evaluate", "Estimate what other policies would have cost, from logged rows");
  app.footer(estimator_help(estimator_names()) +
             "\nExample:\n  scrm evaluate logs --policy new.toml --policy old.toml --interval student");
  app.add_option("data", command->data, "Shards (.h5 files) or folders of them")->required()->type_name("DATA");
  app.add_option("--policy", command->policies, "A policy file; repeat it for more")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--target", command->targets, "An outside policy: the shards' dataset target/NAME; repeat it for more")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--estimator", command->options.estimators,
                 "Estimators, separated by commas; see below. Default all that apply")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--clip", command->clip, "M of `clipped`; auto is the fifth-largest weight")->type_name("X|auto");
  app.add_option("--alpha", command->alpha, "alpha in the formulas below; auto is one over the rows")
      ->type_name("X|auto");
  const std::map<std::string, IntervalKind> kinds = {{"normal", IntervalKind::normal},
                                                     {"student", IntervalKind::student},
                                                     {"bernstein", IntervalKind::bernstein},
                                                     {"bootstrap", IntervalKind::bootstrap}};
  choose_among(app.add_option("--interval", command->options.interval,
                              "normal, student, bernstein or bootstrap; default normal"),
               kinds)
      ->type_name("KIND");
  app.add_option("--level", command->options.level, "Level of the interval; default 0.95")->type_name("P");
  app.add_option("--seed", command->options.seed, "Seed of the bootstrap; default 0")->type_name("S");
  app.add_option("--replicates", command->options.replicates, "Replicates of the bootstrap; default 1000")
      ->type_name("N");
  add_logging_policy_option(app, command->logging_policies, "for mis-naive and mis-balance");
  app.add_flag("--skip-bad-rows", command->options.skip_bad_rows, "Go on without bad rows and count them");
  add_reward_flag(app, command->reward);
  add_common_options(app, command->common);
  app.callback([command] { run_evaluate(*command); });
}

}  // namespace scrm
