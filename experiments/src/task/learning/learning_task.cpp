#include "task/learning/learning_task.hpp"

#include <fmt/format.h>

#include <utility>

#include "report/clock.hpp"
#include "report/enum_names.hpp"
#include "report/inspection.hpp"
#include "report/version.hpp"
#include "scrm/engine/pass/masked_source.hpp"
#include "scrm/engine/pass/row_split.hpp"
#include "scrm/engine/policy/exploration.hpp"
#include "scrm/engine/policy/match_names.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "task/learning/learning_rows.hpp"
#include "task/learning/learning_start.hpp"
#include "task/unnamed_inputs.hpp"

namespace scrm {
namespace {

// Of what a progress bar counts.
constexpr double kProgressSteps = 1000;

/// What the policy file says besides parameters: names, which rows it has seen, and what its features are.
Policy with_names(Policy policy, const LearningRows& rows, const Training& training) {
  const Schema& schema = rows.schema();
  if (rows.fourier()) policy = as_fourier(std::move(policy), *rows.fourier());
  policy.inputs = schema.context_columns;
  policy.actions = schema.action_names;
  policy.training = training;
  return policy;
}

/// How the map is made, where the request or its start asks for one.
LearningRows::MakeFourier make_fourier(const LearningRequest& request, const TaskOptions& task) {
  if (request.start) {
    const Policy& start = request.start->policy;
    if (start.features != FeatureMap::fourier) return {};
    return [&start, &name = request.start->name](Source& source) {
      const Policy matched = match_names(start, source.schema(), name);
      if (matched.fourier.columns.empty()) return start.fourier;
      throw Error(ErrorKind::data,
                  "a start with fourier features needs the data's own columns, in the same order; they differ",
                  {.file = name});
    };
  }
  if (request.features != FeatureMap::fourier) return {};
  return [&request, &task](Source& source) {
    return standardized_fourier(source, request.fourier.width, request.fourier.bandwidth, request.fourier.seed,
                                task.pass("reading"), request.options.skip_bad_rows);
  };
}

PassOptions learning_pass(const TaskOptions& task, LearnOptions& options) {
  PassOptions pass = task.pass("learning");
  pass.progress = nullptr;  // a search does not know how many passes it needs
  if (const Progress bar = task.progress ? task.progress("learning", "") : nullptr) {
    options.on_share = [bar](double share) {
      bar(static_cast<std::int64_t>(kProgressSteps * share), static_cast<std::int64_t>(kProgressSteps));
    };
  }
  return pass;
}

/// What the rows held out say about a policy, by the estimator it was learned with.
void add_held_out(Source& source, const RowMask& held_out, const LearnReport& report, const LearningRequest& request,
                  const TaskOptions& task, LearnOutcome& outcome) {
  EvaluateOptions options;
  options.estimators = {request.estimator};
  options.model = report.model;
  // As evaluate --holdout-of has them: what is chosen automatically is chosen for the rows that are judged.
  options.alpha = request.options.alpha;
  options.clip = request.options.clip;
  options.skip_bad_rows = request.options.skip_bad_rows;
  MaskedSource rows(source, held_out);
  const std::vector<NamedPolicy> policies = {
      {"learned", make_target_policy(outcome.learned.policy, source.schema(), outcome.path)}};
  const EvaluationReport evaluation = evaluate(rows, policies, options, task.pass("evaluating"));
  outcome.held_out = evaluation.policies.front();
  outcome.held_out_rows = evaluation.rows;
}

void require_training_rows(std::int64_t rows, std::int64_t held_out) {
  if (rows > 1) return;
  throw Error(ErrorKind::data,
              fmt::format("there {} to learn from beside {} held out: log more rows, or hold fewer out with --holdout",
                          rows == 1 ? "is only one row" : "are no rows", count_of(held_out, "row")));
}

/// Every policy is held until all are reported, as it was found and as what is printed. Measured.
void charge_policies(const LearnOptions& options, std::size_t parameters, const TaskOptions& task) {
  if (options.lambda_rule != LambdaRule::given || options.lambdas.size() < 2) return;
  constexpr std::size_t kPolicyBytes = std::size_t{7} << 10, kParameterBytes = 64;
  task.ledger().charge(options.lambdas.size() * (kPolicyBytes + kParameterBytes * parameters),
                       fmt::format("reporting {} policies", options.lambdas.size()), "fewer values of --lambda");
}

}  // namespace

void set_lambdas(LearnOptions& options, LambdaRule rule, std::vector<double> values) {
  options.lambda_rule = rule;
  options.lambdas = std::move(values);
  if (rule != LambdaRule::automatic || !options.lambdas.empty()) return;
  options.lambdas = options.rules.penalty == Penalty::se ? std::vector<double>{0.001, 0.01, 0.1, 1, 10, 100}
                                                         : std::vector<double>{1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
}

ReadOptions read_for_learning(bool reward) {
  ReadOptions read;
  read.reward = reward;
  read.cluster = true;  // for the error of the held-out estimate
  return read;
}

void require_valid(const LearningRequest& request) {
  find_learning_estimator(request.estimator);
  if (!(request.holdout >= 0 && request.holdout < 1))
    throw Error(ErrorKind::usage, fmt::format("--holdout is {}, but must lie in [0, 1)", request.holdout));
  // A uniform policy has nothing to learn, and files of policies with parameters do not take it for one of these.
  if (request.epsilon && !(*request.epsilon >= 0 && *request.epsilon < 1))
    throw Error(ErrorKind::usage, fmt::format("--epsilon is {}, but must lie in [0, 1)", *request.epsilon));
  // Where the start fixes the kind, or the data does, it is not known yet.
  if (!request.kind.empty() && !request.start) require_options_of_kind(request, policy_kind(PolicyKind(request.kind)));
  require_valid(request.options);
}

Learned learn_from_dataset(LearningRequest request, Dataset dataset,
                           const std::function<std::string(double, std::size_t)>& path, const TaskOptions& task) {
  const Stopwatch watch;
  require_valid(request);
  LearnOptions& options = request.options;
  options.rules.estimator = &find_learning_estimator(request.estimator);
  options.standardize = true;
  LearningRows rows(std::move(dataset), request.logging_policies, make_fourier(request, task), options.skip_bad_rows,
                    task);
  Source& source = rows.source();
  const Schema& schema = rows.schema();
  Learned learned;
  LearnContext& context = learned.context;
  const auto say = [&task, &context](const std::string& warning) {
    if (warning.empty()) return;
    task.warning(warning);
    context.data_warnings.push_back(warning);
  };
  say(unnamed_columns_warning(schema));
  for (const std::string& warning : rows.fingerprints().copies) say(warning);
  if (request.start) say(unnamed_inputs_warning(request.start->policy, request.start->name, rows.dataset()));
  context.streamed = rows.streamed();
  context.outcome = schema.outcome.value_or(Outcome::loss);

  // Nothing that comes later helps where not even a block fits.
  require_pass_fits(source, task.pass("reading"), rows.fourier() ? "a smaller --width" : "data with fewer features");
  LearningStart start = learning_start(source, request, task);
  context.started = request.start.has_value();
  context.centred = options.rules.centre_losses;
  charge_policies(options, start.policy.theta.size(), task);
  const SplitUnit unit = split_unit(source.schema());
  const Training training{.rows = source.rows(),
                          .holdout = request.holdout,
                          .seed = options.seed,
                          .begins = rows.fingerprints().begins,
                          .by_cluster = unit == SplitUnit::cluster,
                          .sample = rows.fingerprints().sample,
                          .shards = rows.fingerprints().shards};
  const RowMask train = training_rows(source, unit, request.holdout, options.seed, task.pass("splitting"));
  const RowMask held_out = ~train;
  context.held_out_rows = held_out.count();
  if (context.held_out_rows > 0) {
    require_training_rows(train.count(), context.held_out_rows);
    options.rows = &train;
    require_pass_fits(MaskedSource(source, held_out), task.pass("evaluating"), "--holdout 0");
  }
  start_from_regression(source, options.rows, schema.features, request, task, start);
  context.logged_spread = start.logged_spread;
  context.explained = start.explained;
  options.min_scale = context.min_scale = start.min_scale;
  context.chose_scale = start.chose_scale;
  const PassOptions pass = learning_pass(task, options);
  learned.report = learn(source, start.policy, options, pass);

  for (const LearnedPolicy& found : learned.report.policies) {
    LearnOutcome outcome{found, path(found.lambda, learned.report.policies.size())};
    outcome.exploration = measure_exploration(source, found.policy, pass);
    if (context.held_out_rows > 0) add_held_out(source, held_out, learned.report, request, task, outcome);
    learned.policies.push_back(with_names(found.policy, rows, training));
    learned.outcomes.push_back(std::move(outcome));
  }
  context.action_counts = learned.report.action_counts;
  for (const std::int64_t feature : learned.report.constant_features) {
    // Those of a feature map follow the data's own.
    if (feature < schema.features)
      context.constant_features.push_back(feature_name(schema, static_cast<std::size_t>(feature)));
  }
  context.labels = schema.action_kind == ActionKind::multilabel;
  context.action_names = schema.action_names;
  context.loss = learned.report.loss;
  context.estimator = request.estimator;
  context.penalty = options.rules.penalty;
  context.chose_l2 = options.choose_l2;
  context.tuned = options.rules.estimator->tuned.has_value();
  context.holdout = request.holdout;
  context.seconds = watch.seconds();
  context.threads = resolve_threads(task.threads);
  return learned;
}

std::string provenance(const LearningRequest& request, const LearnedPolicy& learned, const std::string& data) {
  return fmt::format("learned by scrm {} from {} rows of {}\nestimator {}, lambda {}, penalty {}, l2 {}, objective {}",
                     version(), static_cast<std::int64_t>(learned.value.rows), data, request.estimator, learned.lambda,
                     name_of(kPenaltyNames, request.options.rules.penalty), learned.l2, learned.value.objective);
}

}  // namespace scrm
