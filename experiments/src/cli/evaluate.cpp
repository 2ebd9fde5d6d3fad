#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/options/estimator_help.hpp"
#include "cli/options/logging_policies.hpp"
#include "cli/options/number_options.hpp"
#include "report/clock.hpp"
#include "report/terminal.hpp"
#include "report/text/evaluation_text.hpp"
#include "scrm/engine/estimate/as_rewards.hpp"
#include "scrm/engine/estimate/evaluate.hpp"
#include "scrm/engine/estimate/ridge_model.hpp"
#include "scrm/engine/estimate/weight_histogram.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/pass/shard_source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/policy/read_policy.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/shard/fingerprint.hpp"

namespace scrm {
namespace {

struct EvaluateCommand {
  CommonOptions common;
  std::vector<std::string> data;
  std::vector<std::string> policies;
  std::vector<std::string> targets;
  std::vector<std::string> logging_policies;
  std::string holdout_of;
  std::string clip = "auto";
  std::string alpha = "auto";
  std::string model = "auto";
  bool reward = false;
  std::string outcome_range;
  bool weight_histogram = false;
  EvaluateOptions options;
};

/// What an evaluation found, with histograms of the policies' weights where they were asked for.
struct Evaluated {
  EvaluationReport report;
  std::vector<WeightHistogram> histograms = {};
};

Policy load_policy(const EvaluateCommand& command, const std::string& path) {
  return read_policy(path, MemoryLedger::of_process(command.common.memory).left());
}

/// What is to be said where a policy is judged on the rows it was learned from; empty where it is not.
std::string training_rows_warning(const std::string& path, const Policy& policy, std::int64_t rows,
                                  std::uint64_t begins) {
  if (!policy.training || policy.training->begins != begins) return "";
  const bool same = policy.training->rows == rows;
  return fmt::format("it was learned from {} rows, and its estimate on them is an optimist's; {}",
                     same ? "these" : "the first of these",
                     same && policy.training->holdout > 0
                         ? fmt::format("--holdout-of {} judges it on those that were held out", path)
                         : "judge it on other rows");
}

/// Policies, and what is to be said about those judged on rows they were learned from.
struct LoadedPolicies {
  std::vector<NamedPolicy> policies;
  std::vector<std::string> warnings;  ///< one for each policy; most are empty
};

LoadedPolicies load_policies(const EvaluateCommand& command, const Dataset& dataset, std::uint64_t begins) {
  LoadedPolicies loaded;
  for (const std::string& path : command.policies) {
    const Policy policy = load_policy(command, path);
    loaded.policies.push_back({path, make_target_policy(policy, dataset.schema(), path)});
    loaded.warnings.push_back(command.holdout_of.empty() ? training_rows_warning(path, policy, dataset.rows(), begins)
                                                         : "");
  }
  for (std::size_t t = 0; t < command.targets.size(); ++t) {
    loaded.policies.push_back({command.targets[t], make_target_column_policy(static_cast<int>(t))});
    loaded.warnings.emplace_back();
  }
  return loaded;
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

/// The rows that learning this policy did not see.
RowMask held_out_rows(const EvaluateCommand& command, ShardSource& source, std::uint64_t begins) {
  const Dataset& dataset = source.dataset();
  const auto training = load_policy(command, command.holdout_of).training;
  const auto fail = [&](const std::string& what) { throw Error(ErrorKind::data, what, {.file = command.holdout_of}); };
  if (!training) fail("does not say which rows it was learned from: only files that `scrm learn` wrote do");
  if (training->begins != begins || training->rows != dataset.rows()) {
    fail(fmt::format("was learned from {}, and these are others ({}): give --holdout-of the data of its `scrm learn`",
                     counted(training->rows, "row"), counted(dataset.rows(), "row")));
  }
  if (training->holdout == 0) fail("was learned from all of these rows: none were held out");
  if (training->by_cluster && !dataset.schema().cluster)
    fail("was learned with whole clusters held out, and these rows have no dataset `cluster`");
  return ~training_rows(source, training->by_cluster ? SplitUnit::cluster : SplitUnit::row, training->holdout,
                        training->seed, command.common.pass("splitting"));
}

constexpr const char* kRidge = "ridge";
constexpr const char* kNoModel = "none";

/// The model that --model asks for; null where there is none.
std::shared_ptr<const OutcomeModel> load_model(const EvaluateCommand& command, Source& source) {
  if (source.schema().model) return make_column_model(source.schema());
  if (command.model != kRidge) return nullptr;
  return fit_ridge_model(source, {.skip_bad_rows = command.options.skip_bad_rows},
                         command.common.pass("fitting the model"));
}

EvaluationReport evaluate_source(const EvaluateCommand& command, Source& source,
                                 const std::vector<NamedPolicy>& policies) {
  EvaluateOptions options = command.options;
  options.model = load_model(command, source);
  return evaluate(source, policies, options, command.common.pass("evaluating"));
}

std::vector<WeightHistogram> histograms_of(const EvaluateCommand& command, Source& source,
                                           const std::vector<NamedPolicy>& policies) {
  if (!command.weight_histogram) return {};
  return weight_histograms(source, policies, command.common.pass("weights"));
}

Evaluated evaluate_rows(const EvaluateCommand& command, Dataset dataset) {
  const std::uint64_t begins = fingerprint(dataset);
  ShardSource source(std::move(dataset));
  const auto [policies, warnings] = load_policies(command, source.dataset(), begins);
  if (!command.holdout_of.empty()) {
    const RowMask mask = held_out_rows(command, source, begins);
    MaskedSource rows(source, mask);
    EvaluationReport report = evaluate_source(command, rows, policies);
    return {std::move(report), histograms_of(command, rows, policies)};
  }
  LoggingPolicies logging;  // read first: what is wrong with them is known before the pass
  if (!command.logging_policies.empty())
    logging = load_logging_policies(command.logging_policies, source.dataset(), command.common);
  EvaluationReport report = evaluate_source(command, source, policies);
  if (!logging.empty()) add_rollouts(command, source.dataset(), logging, policies, report);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    std::vector<std::string>& said = report.policies[i].diagnostics.warnings;
    if (!warnings[i].empty()) said.insert(said.begin(), warnings[i]);
  }
  return {std::move(report), histograms_of(command, source, policies)};
}

/// What was given as rewards, as the losses that are evaluated.
void as_losses(EvaluateOptions& options) {
  if (options.outcome_range)
    options.outcome_range = OutcomeRange{-options.outcome_range->high, -options.outcome_range->low};
  if (options.at_least) options.at_least = -*options.at_least;
}

void run_evaluate(EvaluateCommand& command) {
  if (!command.holdout_of.empty()) {
    if (!command.logging_policies.empty()) fail_usage("--holdout-of and --logging-policy exclude each other");
    std::vector<std::string>& policies = command.policies;
    if (std::find(policies.begin(), policies.end(), command.holdout_of) == policies.end())
      policies.insert(policies.begin(), command.holdout_of);
  }
  if (command.weight_histogram && !command.common.json) fail_usage("--weight-histogram is for --json");
  if (command.policies.empty() && command.targets.empty()) {
    fail_usage("there is no policy to evaluate: give --policy FILE or --target NAME");
  }
  if (command.model.empty()) fail_usage("--model is empty: give `ridge`, `none` or the name of a model of the shards");
  if (command.options.baseline.empty()) fail_usage("--baseline is empty: give `logged`, a policy file or a target");
  command.options.clip = number_or_auto(command.clip, "--clip");
  command.options.alpha = number_or_auto(command.alpha, "--alpha");
  if (!command.outcome_range.empty()) {
    const auto [low, high] = parse_range(command.outcome_range, "--outcome-range");
    command.options.outcome_range = OutcomeRange{low, high};
  }
  const Stopwatch watch;
  ReadOptions read;
  read.reward = command.reward;
  read.targets = command.targets;
  read.cluster = true;
  read.sole_model = command.model == "auto";
  if (!read.sole_model && command.model != kNoModel && command.model != kRidge) read.model = command.model;
  Dataset dataset(command.data, read);
  const Outcome outcome = dataset.schema().outcome.value_or(Outcome::loss);
  if (outcome == Outcome::reward) as_losses(command.options);
  auto [report, histograms] = evaluate_rows(command, std::move(dataset));

  EvaluationContext context;
  if (outcome == Outcome::reward) report = as_rewards(std::move(report));
  context.outcome = outcome;
  context.seconds = watch.seconds();
  context.threads = command.common.threads;
  if (command.common.json) {
    nlohmann::ordered_json json = evaluation_json(report, command.options, context);
    for (std::size_t p = 0; p < histograms.size(); ++p) json["policies"][p]["weights"] = histogram_json(histograms[p]);
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}", evaluation_text(report, command.options, context));
  }
  for (const PolicyReport& policy : report.policies) {
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
  app.add_option("--target", command->targets, "An outside policy: the shards' dataset target/NAME; repeat it for more")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--holdout-of", command->holdout_of,
                 "Only the rows that `scrm learn` held out when it wrote this policy, which is evaluated too")
      ->type_name("FILE");
  suggest(app.add_option("--estimator", command->options.estimators,
                         "Estimators, separated by commas; see below. Default all that apply"),
          estimator_names())
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--clip", command->clip, "M of `clipped`; auto is the fifth-largest weight")->type_name("X|auto");
  app.add_option("--alpha", command->alpha, "alpha in the formulas below; auto is one over the rows")
      ->type_name("X|auto");
  app.add_option(
         "--model", command->model,
         "What q in the formulas below is: `ridge`, fitted here on rows other than the one it predicts; NAME, the "
         "shards' predictions model/NAME; or `none`. Default the shards' model where all have the same one, else "
         "none")
      ->type_name("ridge|none|NAME");
  choose_among(
      app.add_option("--tuning", command->options.tuning,
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
  choose_among(
      app.add_option("--interval", command->options.interval, fmt::format("{}; see below. Default auto", kind_names)),
      kinds)
      ->type_name("KIND");
  app.add_option("--outcome-range", command->outcome_range,
                 "Where outcomes are known to lie, as in 0:1; default where those seen do")
      ->type_name("LOW:HIGH");
  app.add_option("--max-weight", command->options.max_weight,
                 "The largest weight that there can be, for intervals that need bounds; default none")
      ->type_name("X");
  app.add_flag("--simultaneous", command->options.simultaneous,
               "Intervals that hold for all policies at once (by the bootstrap), for whoever picks the best of many");
  app.add_option("--at-least", command->options.at_least,
                 "Say how sure one may be that a policy does at least as well as this outcome, and that it is better "
                 "than the baseline")
      ->type_name("X");
  app.add_option("--level", command->options.level, "Level of the interval; default 0.95")->type_name("P");
  app.add_option("--seed", command->options.seed, "Seed of the bootstrap; default 0")->type_name("S");
  app.add_option("--replicates", command->options.replicates, "Replicates of the bootstrap; default 1000")
      ->type_name("N");
  app.add_option("--baseline", command->options.baseline,
                 "What each policy is compared with: `logged` (the logged actions; default), or one of the --policy "
                 "files or --target names given")
      ->type_name("NAME");
  add_logging_policy_option(app, command->logging_policies, "for mis-naive and mis-balance");
  app.add_flag("--weight-histogram", command->weight_histogram,
               "With --json, count the rows by weight too, in one more pass: `scrm report` draws them");
  app.add_flag("--skip-bad-rows", command->options.skip_bad_rows, "Go on without bad rows and count them");
  add_reward_flag(app, command->reward);
  add_common_options(app, command->common);
  app.callback([command] { run_evaluate(*command); });
}

}  // namespace scrm
