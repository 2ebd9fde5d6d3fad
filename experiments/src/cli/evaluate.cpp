#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/options/estimator_help.hpp"
#include "cli/options/number_options.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/evaluation_text.hpp"
#include "task/evaluation_task.hpp"

namespace scrm {
namespace {

struct EvaluateCommand {
  CommonOptions common;
  std::vector<std::string> data;
  std::vector<std::string> policies;
  std::vector<std::string> logging_policies;
  std::string holdout_of;
  std::string clip = "auto";
  std::string alpha = "auto";
  bool reward = false;
  std::string outcome_range;
  EvaluationRequest request;
};

/// Reads the policies that the request is about.
void load_policies(EvaluateCommand& command) {
  EvaluationRequest& request = command.request;
  request.policies = command.common.read_policies(command.policies);
  request.logging_policies = command.common.read_policies(command.logging_policies);
  for (const PolicyFile& file : request.policies) {
    if (file.name == command.holdout_of) request.holdout_of = file;
  }
}

/// Those of several deployments are none of the list: they come by themselves.
void require_known_estimators(const EvaluateCommand& command) {
  for (const std::string& name : command.request.options.estimators) {
    if (name.starts_with("mis-"))
      fail_usage(
          fmt::format("'{}' is not chosen with --estimator: mis-naive and mis-balance come with "
                      "--logging-policy, beside the estimators that are",
                      name));
  }
}

void run_evaluate(EvaluateCommand& command) {
  if (!command.holdout_of.empty()) {
    if (!command.logging_policies.empty()) fail_usage("--holdout-of and --logging-policy exclude each other");
    std::vector<std::string>& policies = command.policies;
    if (std::find(policies.begin(), policies.end(), command.holdout_of) == policies.end())
      policies.insert(policies.begin(), command.holdout_of);
  }
  EvaluationRequest& request = command.request;
  if (request.weight_histogram && !command.common.json) fail_usage("--weight-histogram is for --json");
  if (command.policies.empty() && request.targets.empty()) {
    fail_usage("there is no policy to evaluate: give --policy FILE or --target NAME");
  }
  if (request.model.empty())
    fail_usage("--model is empty: give `ridge`, `fourier`, `none` or the name of a model of the shards");
  if (request.options.baseline.empty()) fail_usage("--baseline is empty: give `logged`, a policy file or a target");
  request.options.clip = number_or_auto(command.clip, "--clip");
  request.options.alpha = number_or_auto(command.alpha, "--alpha");
  if (!command.outcome_range.empty()) {
    const auto [low, high] = parse_range(command.outcome_range, "--outcome-range");
    request.options.outcome_range = OutcomeRange{low, high};
  }
  require_known_estimators(command);
  require_valid(request.options);
  const Stopwatch watch;
  Dataset dataset(command.data, read_for_evaluation(request, command.reward));
  load_policies(command);
  const Evaluated result = evaluate_dataset(request, std::move(dataset), command.common.task());

  const EvaluationContext context{result.outcome, watch.seconds(), command.common.threads, result.warnings};
  if (command.common.json) {
    fmt::print("{}\n", json_text(evaluation_json(result.report, result.options, context, result.histograms)));
  } else {
    fmt::print("{}", evaluation_text(result.report, result.options, context));
  }
  for (const PolicyReport& policy : result.report.policies) {
    for (const std::string& warning : policy.diagnostics.warnings)
      print_warning(fmt::format("{}: {}", policy.name, warning), command.common.quiet);
  }
}

}  // namespace

void add_evaluate_command(CLI::App& program, Ranks& ranks) {
  auto command = std::make_shared<EvaluateCommand>();
  command->common.ranks = &ranks;
  CLI::App& app = *program.add_subcommand("evaluate", "Estimate what other policies would have cost, from logged rows");
  app.footer(estimator_help(estimator_names()) + interval_help() +
             "\nExample:\n  scrm evaluate logs --policy new.toml --policy old.toml --interval student");
  app.add_option("data", command->data, "Shards (.h5 files) or folders of them")->required()->type_name("DATA");
  app.add_option("--policy", command->policies, "A policy file; repeat it for more")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--target", command->request.targets,
                 "An outside policy: the shards' dataset target/NAME; repeat it for more")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--holdout-of", command->holdout_of,
                 "Only the rows that `scrm learn` held out when it wrote this policy, which is evaluated too")
      ->type_name("FILE");
  suggest(app.add_option("--estimator", command->request.options.estimators,
                         "Estimators, separated by commas; see below. Default all that apply"),
          [] { return estimator_names(); })
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--clip", command->clip, "M of `clipped`; auto is the fifth-largest weight")->type_name("X|auto");
  app.add_option(
         "--alpha", command->alpha,
         "alpha in the formulas below, and lambda of `ls`; auto is one over the rows, for `ls` the lambda of the least "
         "bound")
      ->type_name("X|auto");
  app.add_option(
         "--model", command->request.model,
         "What q in the formulas below is: `ridge`, fitted here on rows other than the one it predicts; `fourier`, "
         "the same with 256 random features of a gaussian kernel beside the linear ones, drawn by --seed; NAME, the "
         "shards' predictions model/NAME; or `none`. Default the shards' model where all have the same one, else none")
      ->type_name("ridge|fourier|none|NAME");
  choose_among(
      app.add_option("--tuning", command->request.options.tuning,
                     "How tau and lambda are tuned: mse (the least bound of the mean squared error; default) or "
                     "slope (the least variance that agrees with all larger ones)"),
      std::map<std::string, Tuning>{{"mse", Tuning::mse}, {"slope", Tuning::slope}})
      ->type_name("RULE");
  std::map<std::string, IntervalKind> kinds;
  std::string kind_names;
  for (const IntervalDefinition& interval : all_intervals()) {
    kinds[interval.name] = interval.kind;
    kind_names += (kind_names.empty() ? "" : ", ") + std::string(interval.name);
  }
  choose_among(app.add_option("--interval", command->request.options.interval,
                              fmt::format("{}; see below. Default auto", kind_names)),
               kinds)
      ->type_name("KIND");
  app.add_option("--outcome-range", command->outcome_range,
                 "Where outcomes are known to lie, as in 0:1; default where those seen do")
      ->type_name("LOW:HIGH");
  app.add_option("--max-weight", command->request.options.max_weight,
                 "The largest weight that there can be, for intervals that need bounds; default none")
      ->type_name("X");
  app.add_flag("--simultaneous", command->request.options.simultaneous,
               "Intervals that hold for all policies at once (by the bootstrap), for whoever picks the best of many");
  app.add_option("--at-least", command->request.options.loss_threshold,
                 "Say how sure one may be that a policy does at least as well as this outcome, and that it is better "
                 "than the baseline")
      ->type_name("X");
  app.add_option("--level", command->request.options.level, "Level of the interval; default 0.95")->type_name("P");
  app.add_option("--seed", command->request.options.seed, "Seed of the bootstrap; default 0")->type_name("S");
  app.add_option("--replicates", command->request.options.replicates, "Replicates of the bootstrap; default 1000")
      ->type_name("N");
  app.add_option("--baseline", command->request.options.baseline,
                 "What each policy is compared with: `logged` (the logged actions; default), or one of the --policy "
                 "files or --target names given")
      ->type_name("NAME");
  add_logging_policy_option(app, command->logging_policies, "for mis-naive and mis-balance");
  app.add_flag("--weight-histogram", command->request.weight_histogram,
               "With --json, count the rows by weight too, in one more pass: `scrm report` draws them");
  app.add_flag("--skip-bad-rows", command->request.options.skip_bad_rows, "Go on without bad rows and count them");
  add_reward_flag(app, command->reward);
  add_common_options(app, command->common);
  app.callback([command] { run_evaluate(*command); });
}

}  // namespace scrm
