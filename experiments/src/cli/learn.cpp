#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/options/choice.hpp"
#include "cli/options/estimator_help.hpp"
#include "cli/options/number_options.hpp"
#include "cli/outputs.hpp"
#include "report/clock.hpp"
#include "report/enum_names.hpp"
#include "report/learning/learning_text.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/io/file/atomic_file.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/path_checks.hpp"
#include "task/learning/learning_task.hpp"

namespace scrm {
namespace {

struct LearnCommand {
  CommonOptions common;
  std::vector<std::string> data;
  std::vector<std::string> logging_policies;
  bool reward = false;
  std::string out;
  bool overwrite = false;
  std::string start;
  const CLI::Option *scale_option = nullptr, *mixing_option = nullptr;
  Mixing mixing = Mixing::joint;
  std::optional<std::int64_t> width, feature_seed;
  std::optional<double> bandwidth;
  std::string scale;
  std::string lambda = "auto";
  std::vector<double> lambda_grid;
  std::string l2 = "0";
  std::string alpha = "auto";
  std::string clip = "auto";
  std::string bound;
  LearningRequest request;
};

void parse_lambda(LearnCommand& command) {
  LearnOptions& options = command.request.options;
  if (command.lambda == "theory") return set_lambdas(options, LambdaRule::theory, {});
  if (command.lambda == "auto") return set_lambdas(options, LambdaRule::automatic, command.lambda_grid);
  set_lambdas(options, LambdaRule::given,
              parse_numbers(command.lambda, "--lambda", "auto, theory, a number or a list such as 0.1,1,10"));
}

void parse_l2(LearnCommand& command) {
  LearnOptions& options = command.request.options;
  const std::optional<double> l2 = number_or_auto(command.l2, "--l2");
  options.choose_l2 = !l2;
  options.rules.l2 = l2.value_or(0);
  if (l2 && !options.l2_candidates.empty()) fail_usage("--l2-grid is what --l2 auto chooses from; it needs --l2 auto");
}

void parse_scale(LearnCommand& command) {
  LearningRequest& request = command.request;
  request.learn_scale = command.scale == "learned";
  const std::optional<double> scale = number_option(command.scale);
  request.scale = scale;
  const bool given = command.scale_option->count() > 0;
  if (given && !request.learn_scale && !(scale && *scale > 0)) {
    fail_usage(fmt::format("--scale is '{}', but must be a number above zero or 'learned'", command.scale));
  }
  if (request.min_scale && !request.learn_scale)
    fail_usage("--min-scale is where a learned scale ends; it needs --scale learned");
}

void parse_features(LearnCommand& command) {
  LearningRequest& request = command.request;
  const bool given = command.width || command.bandwidth || command.feature_seed;
  if (given && request.features != FeatureMap::fourier)
    fail_usage("--width, --bandwidth and --feature-seed belong to --features fourier");
  FourierFeatures& map = request.fourier;
  map.width = command.width.value_or(map.width);
  map.bandwidth = command.bandwidth.value_or(map.bandwidth);
  map.seed = static_cast<std::uint64_t>(command.feature_seed.value_or(0));
}

std::string output_path(const LearnCommand& command, double lambda, std::size_t policies) {
  if (policies == 1) return command.out;
  const std::size_t dot = command.out.rfind(".toml");
  const std::string stem = dot == std::string::npos ? command.out : command.out.substr(0, dot);
  return fmt::format("{}-lambda-{}.toml", stem, lambda);
}

/// Fails now where writing the policies would fail after the search, or destroy something.
void prepare_outputs(const LearnCommand& command) {
  if (!command.common.speaks()) return;
  std::vector<std::string> inputs = command.data;
  inputs.insert(inputs.end(), command.logging_policies.begin(), command.logging_policies.end());
  if (!command.start.empty()) inputs.push_back(command.start);
  const LearnOptions& options = command.request.options;
  const std::size_t policies = options.lambda_rule == LambdaRule::given ? options.lambdas.size() : 1;
  for (std::size_t i = 0; i < policies; ++i) {
    const double lambda = policies > 1 ? options.lambdas[i] : 0;
    const std::string path = output_path(command, lambda, policies);
    prepare_output_file(path, inputs, command.overwrite, command.common);
    const AtomicFile writable(path);
  }
}

/// Options that say otherwise than the start, which fixes them, are told rather than left out without a word.
void warn_of_fixed_options(const LearnCommand& command) {
  const LearningRequest& request = command.request;
  const Policy& start = request.start->policy;
  const auto warn = [&command](const char* option, const auto& given, const auto& fixed) {
    print_warning(fmt::format("{} {} is not followed: {} has {}, and a start fixes it; change it there", option, given,
                              command.start, fixed),
                  command.common.quiet);
  };
  const bool spread = start.kind == PolicyKind::gaussian || start.kind == PolicyKind::lognormal;
  if (!request.kind.empty() && request.kind != start.kind.name()) warn("--kind", request.kind, start.kind.name());
  if (request.epsilon && !spread && *request.epsilon != start.epsilon)
    warn("--epsilon", *request.epsilon, start.epsilon);
  if (command.scale_option->count() > 0 && spread && !request.learn_scale && request.scale != start.scale)
    warn("--scale", *request.scale, start.scale);
}

void run_learn(LearnCommand& command) {
  LearningRequest& request = command.request;
  request.options.alpha = number_or_auto(command.alpha, "--alpha");
  request.options.clip = number_or_auto(command.clip, "--clip");
  parse_lambda(command);
  parse_l2(command);
  parse_scale(command);
  parse_features(command);
  if (command.mixing_option->count() > 0) request.mixing = command.mixing;
  if (!command.bound.empty()) request.options.minimize.bound = parse_range(command.bound, "--bound");
  require_valid(request);
  prepare_outputs(command);
  const Stopwatch watch;
  Dataset dataset(command.data, read_for_learning(command.reward));
  request.logging_policies = command.common.read_policies(command.logging_policies);
  if (!command.start.empty()) {
    request.start = command.common.read_policies({command.start}).front();
    warn_of_fixed_options(command);
  }
  const auto path = [&command](double lambda, std::size_t policies) { return output_path(command, lambda, policies); };
  Learned learned = learn_from_dataset(request, std::move(dataset), path, command.common.task());

  for (std::size_t i = 0; i < learned.outcomes.size() && command.common.speaks(); ++i) {
    const LearnOutcome& outcome = learned.outcomes[i];
    require_replaceable(outcome.path, command.overwrite);  // the search may have taken hours
    write_policy(outcome.path, learned.policies[i],
                 provenance(request, outcome.learned, fmt::format("{}", fmt::join(command.data, " "))));
  }
  learned.context.seconds = watch.seconds();
  const auto& [report, outcomes, policies, context] = learned;
  fmt::print("{}", command.common.json ? json_text(learning_json(report, outcomes, context)) + "\n"
                                       : learning_text(report, outcomes, context));
  for (const LearnOutcome& outcome : outcomes) {
    for (const std::string& warning : learning_warnings(outcome, context))
      print_warning(fmt::format("{}: {}", outcome.path, warning), command.common.quiet);
  }
}

void add_policy_options(CLI::App& app, LearnCommand& command) {
  std::vector<const PolicyKindDefinition*> learnable;
  std::vector<std::string> names;
  for (const PolicyKindDefinition& kind : policy_kinds()) {
    if (kind.score_gradient == nullptr) continue;
    learnable.push_back(&kind);
    names.emplace_back(kind.format.kind.name());
  }
  const std::map<std::string, FeatureMap> maps = {
      {"linear", FeatureMap::linear}, {"quadratic", FeatureMap::quadratic}, {"fourier", FeatureMap::fourier}};
  app.add_option("--kind", command.request.kind, names_of_kinds(learnable) + "; default: what suits the actions")
      ->check(one_of(names).description(""))
      ->type_name("K");
  choose_among(app.add_option("--features", command.request.features,
                              "linear, quadratic, or fourier (linear, and random features of a gaussian kernel); "
                              "default linear"),
               maps)
      ->type_name("MAP");
  app.add_option("--width", command.width, "Random features of fourier; default 256")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->type_name("N");
  app.add_option("--bandwidth", command.bandwidth,
                 "Of their kernel, in standard deviations; default the root of the number of features")
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  app.add_option("--feature-seed", command.feature_seed, "Seed of their frequencies; default 0")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("S");
  command.scale_option =
      app.add_option(
             "--scale", command.scale,
             "Standard deviation of gaussian, or of log a for lognormal; learned: it is learned too, from half of "
             "the logged actions' spread on. Default 0.5, or that half where the spread is below 0.8 or above 4. Where "
             "the features explain most of the actions' variance, their spread is what these leave")
          ->type_name("X|learned");
  app.add_option("--min-scale", command.request.min_scale,
                 "The least scale that is learned; default a tenth of the logged actions' spread")
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  app.add_option("--epsilon", command.request.epsilon,
                 "Share of uniform actions mixed into softmax and multilabel: exploration, without which there is "
                 "nothing to learn from the next logs; default 0.1")
      ->type_name("X");
  command.mixing_option =
      choose_among(app.add_option("--mixing", command.mixing,
                                  "How epsilon is mixed into multilabel: joint or label; default joint"),
                   values_by_name(kMixingNames))
          ->type_name("HOW");
  app.add_option("--start", command.start,
                 "Start from this policy file, which then fixes kind, features, scale and epsilon. Default: continuous "
                 "actions from the mean of the logged ones, or their regression on the features where that explains "
                 "most of their variance; others from even probabilities")
      ->type_name("FILE");
}

void add_objective_options(CLI::App& app, LearnCommand& command) {
  app.add_option("--lambda", command.lambda,
                 "Weight of the penalty: a number, a list (one policy each), theory, or auto (three random splits); "
                 "default auto")
      ->type_name("L|auto|theory");
  app.add_option("--lambda-grid", command.lambda_grid, "What auto chooses from, separated by commas")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--estimator", command.request.estimator, "Which risk is minimised; see below. Default ips-ix")
      ->type_name("NAME");
  choose_among(app.add_option("--penalty", command.request.options.rules.penalty,
                              "se: lambda sqrt(V/n), sd: lambda sqrt(V); default se"),
               values_by_name(kPenaltyNames))
      ->type_name("P");
  app.add_flag("--centre-losses", command.request.options.rules.centre_losses,
               "Take losses less their mean, so that policies gain nothing by the sum of their weights");
  app.add_option(
         "--l2", command.l2,
         "Ridge on everything but intercepts: a number, or auto (the same splits as lambda, after it); default 0")
      ->type_name("X|auto");
  app.add_option(
         "--l2-grid", command.request.options.l2_candidates,
         "What auto chooses from; default 0 and 1e-6 to 1e-2 standard deviations of the losses, in powers of ten")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option(
         "--alpha", command.alpha,
         "alpha in the formulas below, and lambda of `ls`; auto is one over the rows, for `ls` one over their root")
      ->type_name("X|auto");
  app.add_option("--clip", command.clip, "M of `clipped`; auto is the start policy's fifth-largest weight")
      ->type_name("X|auto");
}

}  // namespace

void add_learn_command(CLI::App& program, Ranks& ranks) {
  auto command = std::make_shared<LearnCommand>();
  command->common.ranks = &ranks;
  CLI::App& app = *program.add_subcommand("learn", "Fit a policy to logged rows by counterfactual risk minimization");
  app.footer(estimator_help(learning_estimator_names()) +
             "\nExample:\n  scrm learn logs --out better.toml\n  scrm learn logs --kind gaussian --scale 0.5 --lambda "
             "0.1,1,10 --out better.toml");
  app.add_option("data", command->data, "Shards (.h5 files) or folders of them")->required()->type_name("DATA");
  app.add_option("--out", command->out, "Policy file to write")->required()->type_name("FILE");
  app.add_flag("--overwrite", command->overwrite, "Replace a policy file that is there already");
  add_policy_options(app, *command);
  add_objective_options(app, *command);
  app.add_option("--bound", command->bound, "Keeps every parameter inside LO:HI")->type_name("LO:HI");
  app.add_option("--holdout", command->request.holdout,
                 "Share of rows kept for an honest estimate; default 0.2, 0 for none")
      ->type_name("F");
  app.add_option("--restarts", command->request.options.restarts, "Searches from different starts; default 1")
      ->type_name("N");
  app.add_option("--max-iter", command->request.options.minimize.max_iterations,
                 "Iterations of each search (L-BFGS), of which there may be several; default 500")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--tolerance", command->request.options.minimize.tolerance,
                 "Norm of the gradient, by features of unit size, to stop at; default 1e-8")
      ->check(CLI::NonNegativeNumber)
      ->type_name("X");
  app.add_option("--seed", command->request.options.seed, "Seed of holdout, splits and restarts; default 0")
      ->type_name("S");
  add_logging_policy_option(app, command->logging_policies, "to weigh rows by the balance heuristic");
  app.add_flag("--skip-bad-rows", command->request.options.skip_bad_rows, "Go on without bad rows");
  add_reward_flag(app, command->reward);
  add_common_options(app, command->common);
  app.callback([command] { run_learn(*command); });
}

}  // namespace scrm
