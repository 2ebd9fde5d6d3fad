#include "scrm/engine/learn/learn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "learn/automatic_parameters.hpp"
#include "learn/features/singular_directions.hpp"
#include "learn/lambda_choice.hpp"
#include "learn/model/learning_model.hpp"
#include "learn/model/model_start.hpp"
#include "learn/search/search_coordinates.hpp"
#include "learn/search/searches.hpp"
#include "learn/training_sums.hpp"
#include "scrm/engine/pass/summary.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/engine/schedule/memory_ledger.hpp"
#include "scrm/io/file/error.hpp"
#include "scrm/io/file/spelling.hpp"
#include "scrm/kernels/vector/random.hpp"

namespace scrm {
namespace {

constexpr double kTheoryDelta = 0.05;
// Of the work, as a progress bar shows it, that goes into choosing lambda.
constexpr double kScoringShare = 0.8;
// Restarts move every coordinate of the start by a standard normal draw from this stream.
constexpr std::uint32_t kRestartStream = 0x57A27;

void require_learnable_scale(const PolicyKindDefinition& kind, const Estimator& estimator, double min_scale) {
  if (kind.scale_gradient == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("the scale of {} policies cannot be learned: their kind {}", kind.format.kind.name(),
                            kind.format.scale.empty() ? "has none" : "has no gradient of it"));
  }
  if (estimator.needs_model) {
    throw Error(ErrorKind::usage,
                fmt::format("the scale cannot be learned with '{}': what a model expects of actions has "
                            "no gradient by it; give a number, or an estimator without a model",
                            estimator.name));
  }
  if (!(min_scale > 0) || !std::isfinite(min_scale)) {
    throw Error(ErrorKind::usage, fmt::format("the least scale is {}, but must be above zero", min_scale));
  }
}

void require_model_gradient(const LearnOptions& options, const PolicyKindDefinition& kind, const TargetPolicy& policy) {
  const Estimator& estimator = *options.rules.estimator;
  const auto refuse = [&](const std::string& reason) {
    throw Error(ErrorKind::usage, fmt::format("'{}' cannot be learned with: {}", estimator.name, reason));
  };
  if (kind.expectation_gradient == nullptr)
    refuse(fmt::format("{} policies have no gradient of what a model expects of them", kind.format.kind.name()));
  if (estimator.learning->correction == Correction::labels && kind.label_gradient == nullptr)
    refuse(fmt::format("{} policies have no gradient of single labels", kind.format.kind.name()));
  if (!options.model) return;
  if (options.model->coefficient_columns() == 0)
    refuse(
        "the model's predictions are known for the logged actions alone, and learning asks for those of all; leave "
        "the model out, and a ridge model is fitted");
  if (const std::string reason = options.model->inapplicable_reason(policy); !reason.empty()) refuse(reason);
}

void require_valid(const Source& source, const Policy& start, const LearnOptions& options) {
  const PolicyKindDefinition& kind = policy_kind(start.kind);
  if (kind.score_gradient == nullptr) {
    throw Error(ErrorKind::usage, fmt::format("a {} policy {}", start.kind.name(),
                                              kind.format.theta == ThetaRows::none
                                                  ? "has no parameters: there is nothing to learn"
                                                  : "cannot be learned: its kind has no score gradient"));
  }
  if (start.features == FeatureMap::fourier) {
    throw Error(ErrorKind::usage,
                "fourier features are learned from the rows of a FourierSource, where they are linear");
  }
  const Estimator& estimator = *options.rules.estimator;
  if (!estimator.learning) throw Error(ErrorKind::usage, fmt::format("'{}' cannot be learned with", estimator.name));
  const auto policy = make_target_policy(start, source.schema(), "the start policy");  // throws where it does not fit
  require_applicable(estimator, source.schema(), *policy, "the start policy");
  if (estimator.learning->form == RiskForm::labels && kind.label_gradient == nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("'{}' learns label by label, and {} policies have no gradient of single labels",
                            estimator.name, start.kind.name()));
  }
  if (estimator.learning->form == RiskForm::model) require_model_gradient(options, kind, *policy);
  require_valid(options);
  if (options.min_scale) require_learnable_scale(kind, estimator, *options.min_scale);
  if (const auto& bound = options.minimize.bound) {
    for (std::size_t j = 0; j < start.theta.size(); ++j) {
      if (start.theta[j] < bound->first || start.theta[j] > bound->second) {
        throw Error(ErrorKind::usage,
                    fmt::format("theta[{}] of the start policy is {}, outside the bound [{}, {}]; choose a wider bound "
                                "or another start",
                                j, start.theta[j], bound->first, bound->second));
      }
    }
  }
}

void require_varied_losses(const Moments& loss, const Schema& schema) {
  const bool reward = schema.outcome == Outcome::reward;
  const char* what = reward ? "reward" : "loss";
  if (loss.count == 1) {
    throw Error(ErrorKind::data,
                "there is only one row to learn from: nothing can be compared with it; log more rows, or hold fewer "
                "of them out");
  }
  if (loss.lowest == loss.highest) {
    throw Error(ErrorKind::data, fmt::format("every {} is {}: no policy is better than another, so there is nothing to "
                                             "learn; check which column holds the {}",
                                             what, reward ? 0.0 - loss.lowest : loss.lowest, what));
  }
  if (squares_vanish(loss)) {
    throw Error(ErrorKind::data,
                fmt::format("every {0} is so small that its square vanishes, and penalties with it; multiply all of "
                            "them by a constant",
                            what));
  }
}

/// The start, and copies of it moved at random, for one λ and one set of rows.
void add_restarts(const ObjectiveProblem& problem, const LearnOptions& options, bool twice, std::vector<Search>& out) {
  const double unit = options.standardize ? unit_of(problem.policy) : 1;
  for (int restart = 0; restart < options.restarts; ++restart) {
    Search search{.start = problem};
    RandomStream random(options.seed, kRestartStream, static_cast<std::uint64_t>(restart));
    for (double& theta : search.start.policy.theta) {
      if (restart > 0) theta += unit * random.normal();
      if (options.minimize.bound)
        theta = std::clamp(theta, options.minimize.bound->first, options.minimize.bound->second);
    }
    if (restart > 0 && options.min_scale) search.start.policy.scale *= std::exp(random.normal());
    out.push_back(search);
    search.plain = true;
    if (twice) out.push_back(std::move(search));
  }
}

/// The highest objective at which another search than the best converged; empty where they all ended at about the same.
std::optional<double> other_minimum(double best, std::vector<Search>::iterator begin,
                                    std::vector<Search>::iterator end) {
  constexpr double kSame = 1e-3;
  double highest = best;
  for (auto it = begin; it != end; ++it) {
    if (it->result.search.status == MinimizeStatus::converged) highest = std::max(highest, it->result.search.value);
  }
  return highest > best + kSame * (1 + std::abs(best)) ? std::optional(highest) : std::nullopt;
}

/// The best of consecutive restarts, with the work of all of them.
LearnedPolicy best_of(std::vector<Search>::iterator begin, std::vector<Search>::iterator end) {
  auto best = begin;
  int iterations = 0, evaluations = 0;
  for (auto it = begin; it != end; ++it) {
    iterations += it->result.search.iterations;
    evaluations += it->result.search.evaluations;
    const double least = best->result.search.value;
    if (it->result.search.value < least || !std::isfinite(least)) best = it;
  }
  require_objective(best->result);
  const std::optional<double> other = other_minimum(best->result.search.value, begin, end);
  LearnedPolicy out = std::move(best->result);
  out.search.iterations = iterations;
  out.search.evaluations = evaluations;
  out.searches = static_cast<int>(end - begin);
  out.other_minimum = other;
  return out;
}

/// The objective of a policy at another λ than it was learned with; infinite where that cannot be told.
double objective_at(double lambda, const LearnedPolicy& learned) {
  if (!(learned.lambda > 0)) return std::numeric_limits<double>::infinity();
  return learned.value.risk + lambda * (learned.value.penalty / learned.lambda) + learned.value.ridge;
}

/// The objectives of policies at a λ.
std::vector<double> objectives_at(double lambda, std::span<const Policy> policies, Source& source,
                                  const ObjectiveProblem& problem, const LearnOptions& options,
                                  const PassOptions& pass) {
  if (policies.empty()) return {};
  std::vector<ObjectiveProblem> problems(policies.size(), problem);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    problems[i].policy = policies[i];
    problems[i].rules.lambda = lambda;
  }
  std::vector<double> out;
  for (const ObjectiveValue& value : evaluate_objectives(source, problems, pass, options.skip_bad_rows))
    out.push_back(value.objective);
  return out;
}

/// A policy that is better than what was found at a λ shows that the search there was stuck: it is done again from that
/// policy. Those of other λ are asked, and what was found on parts of the rows.
void free_stuck_searches(Source& source, const ObjectiveProblem& problem, std::span<const Policy> on_parts,
                         const LearnOptions& options, const PassOptions& pass, std::vector<LearnedPolicy>& found) {
  constexpr double kSame = 1e-6;
  for (LearnedPolicy& one : found) {
    const double stuck = one.value.objective;
    double least = stuck - kSame * (1 + std::abs(stuck));
    const Policy* better = nullptr;
    const auto ask = [&](const Policy& policy, double objective) {
      if (!(objective < least)) return;
      least = objective;
      better = &policy;
    };
    for (const LearnedPolicy& other : found) ask(other.policy, objective_at(one.lambda, other));
    const std::vector<double> elsewhere = objectives_at(one.lambda, on_parts, source, problem, options, pass);
    for (std::size_t i = 0; i < elsewhere.size(); ++i) ask(on_parts[i], elsewhere[i]);
    if (better == nullptr) continue;
    std::vector<Search> again(1, Search{.start = problem});
    again.front().start.policy = *better;
    again.front().start.rules.lambda = one.lambda;
    run_searches(source, again, options, pass);
    LearnedPolicy& result = again.front().result;
    if (!(result.value.objective < stuck)) continue;
    result.search.iterations += one.search.iterations;
    result.search.evaluations += one.search.evaluations;
    result.searches += one.searches;
    result.other_minimum = stuck;
    one = std::move(result);
  }
}

/// The policies of these λ, whose ridge is that of problem and options. `on_parts` are policies found on parts of the
/// rows.
std::vector<LearnedPolicy> fit(Source& source, const ObjectiveProblem& problem, const std::vector<double>& lambdas,
                               std::span<const Policy> on_parts, bool report, const LearnOptions& options,
                               const PassOptions& pass) {
  const bool twice = searches_twice(source, options);
  const int starts = options.restarts * (twice ? 2 : 1);
  const std::size_t count = lambdas.size() * static_cast<std::size_t>(starts);
  const PassOptions inner = beside_searches(source, problem.policy, count + on_parts.size(), 0, pass);
  std::vector<Search> searches;
  for (const double lambda : lambdas) {
    ObjectiveProblem one = problem;
    one.rules.lambda = lambda;
    one.policy = best_start(source, one, inner, options.skip_bad_rows);
    add_restarts(one, options, twice, searches);
  }
  searches.front().report = report;
  run_searches(source, searches, options, inner);
  std::vector<LearnedPolicy> out;
  for (auto it = searches.begin(); it != searches.end(); it += starts) {
    out.push_back(best_of(it, it + starts));
  }
  searches.clear();
  if (options.standardize) free_stuck_searches(source, problem, on_parts, options, inner, out);
  return out;
}

/// The policies of all pairs; those of one ridge that follow each other share their passes.
std::vector<LearnedPolicy> fit_all(Source& source, const ObjectiveProblem& problem, std::span<const PenaltyPair> pairs,
                                   const LearnOptions& options, const PassOptions& pass) {
  std::vector<LearnedPolicy> out;
  for (std::size_t first = 0; first < pairs.size();) {
    const double l2 = pairs[first].l2;
    std::vector<double> lambdas;
    for (std::size_t at = first; at < pairs.size() && pairs[at].l2 == l2; ++at) lambdas.push_back(pairs[at].lambda);
    ObjectiveProblem one = problem;
    LearnOptions own = options;
    one.rules.l2 = own.rules.l2 = l2;
    if (options.on_share) {
      own.on_share = [&, before = static_cast<double>(first)](double share) {
        options.on_share((before + share * static_cast<double>(lambdas.size())) / static_cast<double>(pairs.size()));
      };
    }
    for (LearnedPolicy& found : fit(source, one, lambdas, pairs[first].on_parts, first == 0, own, pass)) {
      found.l2 = l2;
      out.push_back(std::move(found));
    }
    first += lambdas.size();
  }
  return out;
}

/// The start as if it had been found, for every λ.
std::vector<LearnedPolicy> keep_start(Source& source, const ObjectiveProblem& problem,
                                      std::span<const PenaltyPair> pairs, const LearnOptions& options,
                                      const PassOptions& pass) {
  std::vector<ObjectiveProblem> problems(pairs.size(), problem);
  for (std::size_t l = 0; l < pairs.size(); ++l) {
    problems[l].rules.lambda = pairs[l].lambda;
    problems[l].rules.l2 = pairs[l].l2;
  }
  std::vector<ObjectiveValue> values = evaluate_objectives(source, problems, pass, options.skip_bad_rows);
  std::vector<LearnedPolicy> out(pairs.size());
  for (std::size_t l = 0; l < pairs.size(); ++l) {
    out[l].policy = problem.policy;
    out[l].lambda = pairs[l].lambda;
    out[l].l2 = pairs[l].l2;
    out[l].search = {.point = problem.policy.theta,
                     .value = values[l].objective,
                     .gradient_norm = norm_of(values[l].gradient),
                     .iterations = 0,
                     .evaluations = 1,
                     .status = MinimizeStatus::zero_gradient};
    out[l].value = std::move(values[l]);
  }
  return out;
}

}  // namespace

void require_valid(const LearnOptions& options) {
  for (const double lambda : options.lambdas) {
    if (!(lambda >= 0) || !std::isfinite(lambda)) {
      throw Error(ErrorKind::usage, fmt::format("lambda is {}, but must be zero or above", lambda));
    }
  }
  if (options.lambdas.empty() && options.lambda_rule != LambdaRule::theory) {
    throw Error(ErrorKind::usage, "there is no lambda to learn with");
  }
  std::vector<double> ridges = options.l2_candidates;
  ridges.push_back(options.rules.l2);
  for (const double l2 : ridges) {
    if (!(l2 >= 0) || !std::isfinite(l2)) {
      throw Error(ErrorKind::usage, fmt::format("l2 is {}, but must be zero or above", l2));
    }
  }
  require_valid_parameters(options.alpha, options.clip);
  if (options.restarts < 1) {
    throw Error(ErrorKind::usage, fmt::format("restarts is {}, but must be at least one", options.restarts));
  }
  if (const auto& bound = options.minimize.bound; bound && !(bound->first < bound->second)) {
    throw Error(ErrorKind::usage, "the lower bound must lie below the upper one");
  }
}

double theory_lambda(double parameters, double rows) {
  return std::sqrt(18 * (parameters * std::log(rows) + std::log(2 / kTheoryDelta)));
}

Policy zero_policy(PolicyKind kind, FeatureMap features, const Schema& schema) {
  Policy policy;
  policy.kind = kind;
  policy.features = features;
  const ThetaRows rows = policy_kind(kind).format.theta;
  policy.outputs = rows == ThetaRows::per_action ? schema.num_actions : rows == ThetaRows::one ? 1 : 0;
  policy.theta.assign(static_cast<std::size_t>(policy.outputs * (1 + mapped_features(features, schema.features))), 0.0);
  return policy;
}

LearnReport learn(Source& source, const Policy& start, const LearnOptions& options, const PassOptions& whole) {
  require_valid(source, start, options);
  LearnReport report;
  PassOptions pass = whole;
  const bool categories = options.standardize && source.schema().action_kind == ActionKind::categorical;
  const TrainingSums rows = training_sums(source, options.rows, categories, pass);
  if (!options.skip_bad_rows) require_no_bad_rows(rows.audit);
  report.loss = rows.loss;
  report.action_counts = rows.action_counts;
  const double n = report.loss.count;
  if (n == 0)
    throw Error(ErrorKind::data, "there are no rows to learn from: log more of them, or hold fewer of them out");
  const bool losses_equal = report.loss.lowest == report.loss.highest;
  if (!options.keep_start_if_losses_equal) require_varied_losses(report.loss, source.schema());
  ObjectiveProblem problem{start, options.rules, options.rows};
  problem.rules.mean_loss = report.loss.mean;
  problem.rules.scale_gradient = options.min_scale.has_value();
  problem.rules.alpha = report.alpha = options.alpha.value_or(1 / n);
  if (options.rules.estimator->parameter == EstimatorParameter::clip) {
    problem.rules.clip = report.clip = options.clip ? *options.clip : automatic_clip(source, start, options, pass);
  }
  LearnOptions searching = options;
  searching.minimize.unbounded = options.min_scale ? 1 : 0;  // a bound is one of θ
  if (options.rules.estimator->learning->form == RiskForm::smoothed) {
    problem.rules.smoothing = report.alpha = options.alpha.value_or(1 / std::sqrt(n));
    problem.rules.largest_loss = std::max(0.0, report.loss.highest);
  }
  std::optional<LearningModel> columns;
  if (options.rules.estimator->needs_model) {
    report.model = options.model ? options.model : fit_model(source, options.rows, options, pass);
    columns.emplace(report.model, source, pass);
    problem.model = &*columns;
    MemoryLedger ledger(pass.memory);
    ledger.charge(columns->bytes(), "the model's predictions", "fewer actions");
    pass.memory = ledger.left();
  }
  if (options.rules.estimator->tuned) {
    problem.rules.shrinkage = report.shrinkage =
        options.shrinkage ? *options.shrinkage : automatic_shrinkage(source, start, options, report.model, pass);
  }
  LearnOptions scoring = searching;
  if (options.on_share) scoring.on_share = [&](double share) { options.on_share(kScoringShare * share); };
  const std::vector<PenaltyPair> pairs = choose_penalties(source, problem, scoring, pass, report);
  LearnOptions fitting = searching;
  if (options.on_share && !(report.scores.empty() && report.l2_scores.empty())) {
    fitting.on_share = [&](double share) { options.on_share(kScoringShare + (1 - kScoringShare) * share); };
  }
  report.policies =
      losses_equal ? keep_start(source, problem, pairs, options, pass) : fit_all(source, problem, pairs, fitting, pass);
  if (options.standardize) {
    const SingularDirections directions = SingularDirections::find(source, options.rows, start, pass);
    report.constant_features = directions.constant_features();
    if (!directions.empty() && !options.minimize.bound)
      leave_singular_directions(source, problem, directions, options, pass, report.policies);
  }
  return report;
}

}  // namespace scrm
