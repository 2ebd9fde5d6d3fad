#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/options/estimator_help.hpp"
#include "cli/options/learning_rows.hpp"
#include "cli/options/learning_start.hpp"
#include "cli/options/logging_policies.hpp"
#include "cli/options/number_options.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/enum_names.hpp"
#include "report/terminal.hpp"
#include "report/text/learning_text.hpp"
#include "report/version.hpp"
#include "scrm/engine/learn/learn.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/policy/exploration.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"

namespace scrm {
namespace {

// Of what a progress bar counts.
constexpr double kProgressSteps = 1000;

struct LearnCommand {
  CommonOptions common;
  LearningRowsOptions rows;
  std::string out;
  bool overwrite = false;
  LearningStartOptions start;
  std::string lambda = "auto";
  std::vector<double> lambda_grid;
  std::string estimator = "ips-ix";
  std::string alpha = "auto";
  std::string clip = "auto";
  std::string bound;
  double holdout = 0.2;
  LearnOptions options;
};

MemoryLedger memory_left(const LearnCommand& command) {
  return MemoryLedger::of_process(command.common.memory);
}

void parse_lambda(LearnCommand& command) {
  LearnOptions& options = command.options;
  if (command.lambda == "theory") {
    options.lambda_rule = LambdaRule::theory;
  } else if (command.lambda == "auto") {
    options.lambda_rule = LambdaRule::automatic;
    options.lambdas = command.lambda_grid;
    if (options.lambdas.empty()) {
      options.lambdas = options.rules.penalty == Penalty::se ? std::vector<double>{0.001, 0.01, 0.1, 1, 10, 100}
                                                             : std::vector<double>{1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
    }
  } else {
    options.lambda_rule = LambdaRule::given;
    options.lambdas = parse_numbers(command.lambda, "--lambda", "auto, theory, a number or a list such as 0.1,1,10");
  }
}

std::string output_path(const LearnCommand& command, double lambda, std::size_t policies) {
  if (policies == 1) return command.out;
  const std::size_t dot = command.out.rfind(".toml");
  const std::string stem = dot == std::string::npos ? command.out : command.out.substr(0, dot);
  return fmt::format("{}-lambda-{}.toml", stem, lambda);
}

/// Fails now where writing the policies would fail after the search, or destroy something.
void prepare_outputs(const LearnCommand& command) {
  std::vector<std::string> inputs = command.rows.data;
  inputs.insert(inputs.end(), command.rows.logging_policies.begin(), command.rows.logging_policies.end());
  if (!command.start.file.empty()) inputs.push_back(command.start.file);
  const LearnOptions& options = command.options;
  const std::size_t policies = options.lambda_rule == LambdaRule::given ? options.lambdas.size() : 1;
  for (std::size_t i = 0; i < policies; ++i) {
    const double lambda = policies > 1 ? options.lambdas[i] : 0;
    const std::string path = output_path(command, lambda, policies);
    prepare_output_file(path, inputs, command.overwrite, command.common);
    const AtomicFile writable(path);
  }
}

std::string provenance(const LearnCommand& command, const LearnedPolicy& learned) {
  return fmt::format("learned by scrm {} from {} rows of {}\nestimator {}, lambda {}, penalty {}, l2 {}, objective {}",
                     version(), static_cast<std::int64_t>(learned.value.rows), fmt::join(command.rows.data, " "),
                     command.estimator, learned.lambda, name_of(kPenaltyNames, command.options.rules.penalty),
                     command.options.rules.l2, learned.value.objective);
}

/// What the policy file says besides parameters: names, and which rows it has seen.
Policy with_names(Policy policy, const Schema& schema, const Training& training) {
  policy.inputs = schema.context_columns;
  policy.actions = schema.action_names;
  policy.training = training;
  return policy;
}

PassOptions learning_pass(const LearnCommand& command, LearnOptions& options) {
  PassOptions pass = command.common.pass("learning");
  pass.progress = nullptr;  // a search does not know how many passes it needs
  if (const Progress bar = progress_bar("learning", command.common.quiet, "")) {
    options.on_share = [bar](double share) {
      bar(static_cast<std::int64_t>(kProgressSteps * share), static_cast<std::int64_t>(kProgressSteps));
    };
  }
  return pass;
}

/// What the rows held out say about a policy, by the estimator it was learned with.
void add_held_out(Source& source, const RowMask& held_out, const LearnReport& report, const LearnCommand& command,
                  LearnOutcome& outcome) {
  EvaluateOptions options;
  options.estimators = {command.estimator};
  options.alpha = report.alpha;
  if (report.clip > 0) options.clip = report.clip;
  options.skip_bad_rows = command.options.skip_bad_rows;
  MaskedSource rows(source, held_out);
  const std::vector<NamedPolicy> policies = {
      {"learned", make_target_policy(outcome.learned.policy, source.schema(), outcome.path)}};
  const EvaluationReport evaluation = evaluate(rows, policies, options, command.common.pass("evaluating"));
  outcome.held_out = evaluation.policies.front();
  outcome.held_out_rows = evaluation.rows;
}

void run_learn(LearnCommand& command) {
  LearnOptions& options = command.options;
  options.rules.estimator = &find_learning_estimator(command.estimator);
  options.alpha = number_or_auto(command.alpha, "--alpha");
  options.clip = number_or_auto(command.clip, "--clip");
  parse_lambda(command);
  require_valid(command.start);
  if (!command.bound.empty()) command.options.minimize.bound = parse_range(command.bound, "--bound");
  options.standardize = true;
  if (!(command.holdout >= 0 && command.holdout < 1)) {
    fail_usage(fmt::format("--holdout is {}, but must lie in [0, 1)", command.holdout));
  }
  prepare_outputs(command);
  const Stopwatch watch;
  LearnContext context;
  command.rows.skip_bad_rows = options.skip_bad_rows;
  LearningRows rows(command.rows, command.common);
  context.streamed = rows.streamed();
  context.outcome = rows.schema().outcome.value_or(Outcome::loss);
  Source& source = rows.source();

  const LearningStart from = learning_start(source, command.start, options.skip_bad_rows, command.common);
  const Policy& start = from.policy;
  options.min_scale = from.min_scale;
  if (options.lambda_rule == LambdaRule::given && options.lambdas.size() > 1) {
    // Every policy is held until all are reported, as it was found and as what is printed. Measured.
    constexpr std::size_t kPolicyBytes = std::size_t{7} << 10, kParameterBytes = 64;
    memory_left(command).charge(options.lambdas.size() * (kPolicyBytes + kParameterBytes * start.theta.size()),
                                fmt::format("reporting {} policies", options.lambdas.size()),
                                "fewer values of --lambda");
  }
  const SplitUnit unit = split_unit(source.schema());
  const Training training{source.rows(), command.holdout, options.seed, rows.fingerprint(), unit == SplitUnit::cluster};
  const RowMask train = training_rows(source, unit, command.holdout, options.seed, command.common.pass("splitting"));
  const RowMask held_out = ~train;
  context.held_out_rows = held_out.count();
  if (context.held_out_rows > 0) {
    options.rows = &train;
    require_pass_fits(MaskedSource(source, held_out), command.common.pass("evaluating"), "--holdout 0");
  }
  const PassOptions pass = learning_pass(command, options);
  const LearnReport report = learn(source, start, options, pass);

  std::vector<LearnOutcome> outcomes;
  for (const LearnedPolicy& learned : report.policies) {
    LearnOutcome outcome{learned, output_path(command, learned.lambda, report.policies.size())};
    outcome.exploration = measure_exploration(source, learned.policy, pass);
    if (context.held_out_rows > 0) add_held_out(source, held_out, report, command, outcome);
    require_replaceable(outcome.path, command.overwrite);  // the search may have taken hours
    write_policy(outcome.path, with_names(learned.policy, rows.schema(), training), provenance(command, learned));
    outcomes.push_back(std::move(outcome));
  }
  context.labels = rows.schema().action_kind == ActionKind::multilabel;
  context.action_names = rows.schema().action_names;
  context.loss = report.loss;
  context.min_scale = options.min_scale;
  context.centred = options.rules.centre_losses;
  context.estimator = command.estimator;
  context.penalty = options.rules.penalty;
  context.holdout = command.holdout;
  context.seconds = watch.seconds();
  context.threads = command.common.threads;
  fmt::print("{}", command.common.json ? json_text(learning_json(report, outcomes, context)) + "\n"
                                       : learning_text(report, outcomes, context));
  for (const LearnOutcome& outcome : outcomes) {
    for (const std::string& warning : learning_warnings(outcome, context))
      print_warning(fmt::format("{}: {}", outcome.path, warning), command.common.quiet);
  }
}

void add_objective_options(CLI::App& app, LearnCommand& command) {
  app.add_option("--lambda", command.lambda,
                 "Weight of the penalty: a number, a list (one policy each), theory, or auto (three random splits); "
                 "default auto")
      ->type_name("L|auto|theory");
  app.add_option("--lambda-grid", command.lambda_grid, "What auto chooses from, separated by commas")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--estimator", command.estimator, "Which risk is minimised; see below. Default ips-ix")
      ->type_name("NAME");
  choose_among(app.add_option("--penalty", command.options.rules.penalty,
                              "se: lambda sqrt(V/n), sd: lambda sqrt(V); default se"),
               values_by_name(kPenaltyNames))
      ->type_name("P");
  app.add_flag("--centre-losses", command.options.rules.centre_losses,
               "Take losses less their mean, so that policies gain nothing by the sum of their weights");
  app.add_option("--l2", command.options.rules.l2, "Ridge on everything but intercepts; default 0")->type_name("X");
  app.add_option("--alpha", command.alpha, "alpha in the formulas below; auto is one over the rows")
      ->type_name("X|auto");
  app.add_option("--clip", command.clip, "M of `clipped`; auto is the start policy's fifth-largest weight")
      ->type_name("X|auto");
}

}  // namespace

void add_learn_command(CLI::App& program) {
  auto command = std::make_shared<LearnCommand>();
  CLI::App& app = *program.add_subcommand("learn", "Fit a policy to logged rows by counterfactual risk minimization");
  app.footer(estimator_help(learning_estimator_names()) +
             "\nExample:\n  scrm learn logs --out better.toml\n  scrm learn logs --kind gaussian --scale 0.5 --lambda "
             "0.1,1,10 --out better.toml");
  app.add_option("data", command->rows.data, "Shards (.h5 files) or folders of them")->required()->type_name("DATA");
  app.add_option("--out", command->out, "Policy file to write")->required()->type_name("FILE");
  app.add_flag("--overwrite", command->overwrite, "Replace a policy file that is there already");
  add_learning_start_options(app, command->start);
  add_objective_options(app, *command);
  app.add_option("--bound", command->bound, "Keeps every parameter inside LO:HI")->type_name("LO:HI");
  app.add_option("--holdout", command->holdout, "Share of rows kept for an honest estimate; default 0.2, 0 for none")
      ->type_name("F");
  app.add_option("--restarts", command->options.restarts, "Searches from different starts; default 1")->type_name("N");
  app.add_option("--max-iter", command->options.minimize.max_iterations, "Iterations of L-BFGS; default 500")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--tolerance", command->options.minimize.tolerance,
                 "Norm of the gradient, by features of unit size, to stop at; default 1e-8")
      ->check(CLI::NonNegativeNumber)
      ->type_name("X");
  app.add_option("--seed", command->options.seed, "Seed of holdout, splits and restarts; default 0")->type_name("S");
  add_logging_policy_option(app, command->rows.logging_policies, "to weigh rows by the balance heuristic");
  app.add_flag("--skip-bad-rows", command->options.skip_bad_rows, "Go on without bad rows");
  add_reward_flag(app, command->rows.reward);
  add_common_options(app, command->common);
  app.callback([command] { run_learn(*command); });
}

}  // namespace scrm
