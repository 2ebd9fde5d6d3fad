#include "methods/fitted_policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scrm/engine/policy/policy_kind.hpp"

namespace scrm {
namespace {

bool can_share_passes(const HyperParameters& a, const HyperParameters& b) {
  return a.lambda.kind == LambdaKind::given && b.lambda.kind == LambdaKind::given && a.l2 && a.l2 == b.l2;
}

/// How much smaller than at the start a scale may be that is learned from so many rows. What these say of the best mean
/// is off by about 1/(scale √rows), which costs the square of that, and the scale itself costs its own square: both
/// together least where the scale falls with the fourth root of the rows. One that falls faster fits the noise of the
/// rows it has, and leaves logs from which the mean can hardly be learned any more.
double scale_decay(const RunOptions& options, double rows) {
  return std::pow(static_cast<double>(options.batches.first) / rows, 0.25);
}

// What a run costs, in passes over the rows it learns from: a search takes about so many, and a model that is fitted by
// conjugate gradients so many steps, over all folds. Three splits learn from three quarters of the rows each.
constexpr double kEvaluations = 50, kConjugateSteps = 500, kSplitRows = 3 * 0.75;

/// How many policies are learned to choose λ and the ridge; 0 where nothing is chosen.
std::size_t candidates_of(const RunOptions& options, const HyperParameters& parameters) {
  constexpr std::size_t kOwnRidges = 6;
  const bool automatic = parameters.lambda.kind == LambdaKind::automatic && options.lambda_candidates.size() > 1;
  const std::size_t ridges = options.l2_candidates.empty() ? kOwnRidges : options.l2_candidates.size();
  return (automatic ? options.lambda_candidates.size() : 0) + (parameters.l2 ? 0 : ridges);
}

}  // namespace

FittedPolicies::FittedPolicies(const LearnerSetup& setup)
    : setup_(setup), policies_(setup.runs.size(), setup.problem.start()), metrics_(setup.runs.size()) {}

LearnOptions FittedPolicies::learn_options(const HyperParameters& run, double rows, int batch) const {
  const RunOptions& options = setup_.options;
  LearnOptions out;
  out.rules.estimator = options.estimator;
  out.rules.penalty = options.penalty;
  out.rules.l2 = run.l2.value_or(0);
  out.choose_l2 = !run.l2;
  out.l2_candidates = options.l2_candidates;
  out.rules.weight_cap = options.weight_cap;
  out.rules.centre_losses = options.centre_losses;
  out.alpha = options.alpha;
  const Policy& start = setup_.problem.start();
  if (options.learn_scale && policy_kind(start.kind).scale_gradient != nullptr) {
    out.min_scale = std::max(least_scale(options, start.scale), start.scale * scale_decay(options, rows));
  }
  out.judge = options.judge;
  out.minimize.bound = options.bound;
  out.whiten = true;
  out.sample_first = false;
  out.keep_start_if_losses_equal = true;
  out.published_splits = options.protocol == Protocol::published;
  out.minimize.max_iterations = options.max_iterations;
  out.minimize.tolerance = options.tolerance;
  out.minimize.relative_decrease = options.relative_decrease;
  // Splits of different batches and seeds must not be alike.
  out.seed = setup_.seed * 1'000'003 + static_cast<std::uint64_t>(batch);
  // A run in its last rollout is nearly done and may end.
  if (batch + 1 < options.rollouts) out.on_progress = [stop = setup_.stop](const PathPoint&) { stop.check(); };
  switch (run.lambda.kind) {
    case LambdaKind::given:
      out.lambdas = {run.lambda.value};
      break;
    case LambdaKind::automatic:
      out.lambdas = options.lambda_candidates;
      // One candidate needs no held-out rows to be chosen.
      if (out.lambdas.size() > 1) out.lambda_rule = LambdaRule::automatic;
      break;
    case LambdaKind::theory:
      out.lambda_rule = LambdaRule::theory;
      break;
    case LambdaKind::log_rows:
      out.lambdas = {std::sqrt(18 * std::log(rows))};
      break;
  }
  return out;
}

void FittedPolicies::store(std::size_t run, const LearnedPolicy& learned) {
  policies_[run] = learned.policy;
  rows_read_ += learned.search.evaluations * learned.value.rows;
  std::map<std::string, double>& metrics = metrics_[run];
  metrics["lambda"] = learned.lambda;
  if (!setup_.runs[run].l2) metrics["chosen_l2"] = learned.l2;
  metrics["risk"] = learned.value.risk;
  metrics["penalty"] = learned.value.penalty;
  metrics["evaluations"] = learned.search.evaluations;
  if (learned.value.ess) metrics["ess"] = *learned.value.ess;
  if (setup_.options.learn_scale) metrics["scale"] = learned.policy.scale;
  if (learned.value.mean_weight) metrics["mean_weight"] = *learned.value.mean_weight;
  metrics["theta_0"] = learned.policy.theta.front();
}

void FittedPolicies::fit(Source& rows, int batch, bool warm) {
  const auto n = static_cast<double>(rows.rows());
  for (std::size_t first = 0; first < setup_.runs.size();) {
    const HyperParameters& run = setup_.runs[first];
    LearnOptions options = learn_options(run, n, batch);
    std::size_t last = first + 1;
    // One start for all is what lets searches share their passes.
    while (!warm && last < setup_.runs.size() && can_share_passes(run, setup_.runs[last])) {
      options.lambdas.push_back(setup_.runs[last++].lambda.value);
    }
    const Policy start = warm ? policies_[first] : setup_.problem.start();
    const LearnReport report = learn(rows, start, options, setup_.pass);
    for (std::size_t r = first; r < last; ++r) {
      store(r, report.policies[r - first]);
      if (report.model && report.model->penalty()) metrics_[r]["model_penalty"] = *report.model->penalty();
    }
    first = last;
  }
}

std::string without_estimator(const ProblemFactory& environment, const RunOptions& options) {
  if (!options.estimator->label_sums || environment.action_kind == ActionKind::multilabel) return "";
  return fmt::format("the {} estimator is for actions that are bits", options.estimator->name);
}

MethodResources fitted_resources(const ProblemShape& shape, const RunOptions& options,
                                 const HyperParameters& parameters, int threads, bool all_batches) {
  const std::size_t candidates = candidates_of(options, parameters);
  const bool chooses = candidates > 0;
  MethodResources resources;
  double learned = 0;  // rows of all rollouts' searches together
  for (int m = 1; m <= options.rollouts; ++m)
    learned +=
        static_cast<double>(all_batches ? shape.rows_before.at(static_cast<std::size_t>(m)) : shape.batch_rows(m - 1));
  const double pass = learned * static_cast<double>(shape.row_bytes);
  resources.cost = kEvaluations * pass * (1 + kSplitRows * static_cast<double>(candidates));
  if (!options.estimator->needs_model && !(chooses && options.judge == LambdaJudge::model)) return resources;
  const Schema& schema = shape.schema;
  const auto outputs =
      static_cast<std::size_t>(schema.action_kind == ActionKind::continuous ? 3 : 1 + schema.num_actions);
  const std::size_t width = outputs * static_cast<std::size_t>(1 + schema.features);
  const auto rows = static_cast<std::size_t>(shape.rows_before.at(static_cast<std::size_t>(options.rollouts)));
  // Predictions for every row, of the model of all and of those that choose λ; and what fitting one takes: vectors of
  // every fold and penalty, or where rows have contexts of their own a matrix of each fold and thread.
  constexpr std::size_t kVectors = 150, kMatrices = 5;
  const std::size_t models = (options.estimator->needs_model ? 1 : 0) + (chooses ? 3 : 0);
  const bool categorical = schema.action_kind == ActionKind::categorical;
  const std::size_t matrix = categorical ? outputs * (width / outputs) * (width / outputs) : width * width;
  const double fits = (options.estimator->needs_model ? 1 : 0) + (chooses ? kSplitRows : 0);
  resources.cost +=
      fits * (schema.replays > 1 || schema.sparse ? kConjugateSteps * pass : learned * static_cast<double>(matrix));
  resources.bytes =
      (models * rows * (outputs + 1) +
       (schema.replays > 1 ? kVectors * width : kMatrices * matrix * static_cast<std::size_t>(threads + 3))) *
      sizeof(double);
  resources.hint = "use an estimator without a model, or a projection to fewer features";
  return resources;
}

}  // namespace scrm
