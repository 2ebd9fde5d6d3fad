#include "report/learning/learning_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/terminal.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/policy/policy_kind.hpp"
#include "scrm/io/shard/unlogged_actions.hpp"

namespace scrm {
namespace {

using Warnings = std::vector<std::string>;

constexpr double kUnreliableEssShare = 0.01;
/// Standard deviations of the outcome between its mean and zero above which noise of the weights outweighs the rest.
constexpr double kFarFromZero = 2;
// A policy that has decided more of the rows than this explores in name only.
constexpr double kNearlyAll = 0.9;
// Of a mean weight, how far from one it decides which policy is found, and how far the estimate means nothing.
constexpr double kNotableDistance = 0.1, kDistrustedDistance = 0.3;
// Standard errors beyond which that is no accident.
constexpr double kNotableErrors = 3, kDistrustedErrors = 2;
// Of the logged actions' spread, the share that a scale begins at; one below the lesser is narrow.
constexpr double kUsualShare = 0.5, kNarrowShare = 0.25;
// Of a policy's probability, what it must give to actions that were never logged to explain weights that average less.
constexpr double kExplainingShare = 0.1;
/// How the warning of an evaluation begins that names the propensities as the reason.
constexpr const char* kWeightsAverage = "weights average";

/// A mean weight and its standard error.
struct MeanWeight {
  double mean = 1, error = 0;

  bool is_off(double distance, double errors) const { return std::abs(mean - 1) > std::max(distance, errors * error); }
};

MeanWeight mean_weight(const std::optional<double>& mean, const std::optional<double>& ess, double rows) {
  if (!mean || !ess || !(*ess > 0)) return {};
  return {*mean, *mean * std::sqrt(std::max(0.0, 1 / *ess - 1 / rows))};
}

MeanWeight training_weight(const LearnOutcome& outcome) {
  const ObjectiveValue& value = outcome.learned.value;
  return mean_weight(value.mean_weight, value.ess, value.rows);
}

MeanWeight held_out_weight(const LearnOutcome& outcome) {
  // Label by label, or in a model alone, products of weights do not count.
  if (!outcome.held_out || !outcome.learned.value.mean_weight) return {};
  const Diagnostics& diagnostics = outcome.held_out->diagnostics;
  return mean_weight(diagnostics.mean_weight, diagnostics.ess, static_cast<double>(outcome.held_out_rows));
}

bool is_distrusted(const MeanWeight& weight) {
  return weight.is_off(kDistrustedDistance, kDistrustedErrors);
}

/// Whether the policy that the search began with has weights that average one: then the propensities are right.
bool propensities_hold(const LearnOutcome& outcome) {
  const std::vector<PathPoint>& path = outcome.learned.path;
  if (path.empty() || !path.front().mean_weight) return false;
  return !mean_weight(path.front().mean_weight, path.front().ess, outcome.learned.value.rows)
              .is_off(kNotableDistance, kNotableErrors);
}

/// Whether the scale is more than half of the logged actions' spread: a little further and weights have no end.
bool is_wide(const LearnOutcome& outcome, const LearnContext& context) {
  return context.logged_spread > 0 && outcome.learned.policy.scale > kUsualShare * context.logged_spread;
}

/// Whether weights that average less than one are the policy's own doing, as far as is known, and not that of wrong
/// propensities.
bool left_logged_actions(const LearnOutcome& outcome, const LearnContext& context, double mean_weight) {
  return mean_weight < 1 && (propensities_hold(outcome) || is_wide(outcome, context));
}

/// Options that keep a policy of this kind nearer to the logged actions.
std::string nearer_options(const LearnOutcome& outcome, const LearnContext& context) {
  const Policy& policy = outcome.learned.policy;
  const PolicyFormat& format = policy_kind(policy.kind).format;
  const std::string lambda = "a larger --lambda";
  if (format.scale.empty()) return format.epsilon && !context.started ? lambda + " or a larger --epsilon" : lambda;
  if (context.logged_spread > 0 && policy.scale < kNarrowShare * context.logged_spread)
    return lambda + (context.min_scale ? " or a larger --min-scale" : context.started ? "" : " or a larger --scale");
  return is_wide(outcome, context) && !context.started ? "a smaller --scale or " + lambda : lambda;
}

void warn_of_search(const LearnOutcome& outcome, Warnings& warnings) {
  const LearnedPolicy& learned = outcome.learned;
  const MinimizeStatus status = learned.search.status;
  if (status == MinimizeStatus::zero_gradient && learned.value.ess && *learned.value.ess >= 1) {
    warnings.emplace_back(
        "the gradient is zero at the start, where weights are not: no policy of this kind does anything else on these "
        "rows, so there was nothing to learn");
  } else if (status == MinimizeStatus::zero_gradient) {
    warnings.push_back(
        fmt::format("the gradient is zero at the start: every weight has vanished there; start nearer to the logged "
                    "actions with --start, or use a larger {}",
                    policy_kind(learned.policy.kind).format.scale.empty() ? "--epsilon" : "--scale"));
  } else if (status != MinimizeStatus::converged) {
    warnings.push_back(fmt::format("the search {}; the best point found was kept", to_string(status)));
  }
  if (!learned.other_minimum) return;
  warnings.push_back(
      fmt::format("another search ended at an objective of {:.4f} instead of {:.4f}: there are several minima, and the "
                  "lower one was kept; --restarts looks for lower ones still",
                  *learned.other_minimum, learned.search.value));
}

/// What share of its probability the policy gives to actions that no row learned from has.
double unlogged_share(const LearnOutcome& outcome, const LearnContext& context) {
  double share = 0;
  if (!outcome.exploration) return share;
  const std::vector<double>& probability = outcome.exploration->mean_probability;
  for (const std::size_t k : unlogged_actions(context.action_counts))
    share += k < probability.size() ? probability[k] : 0;
  return share;
}

void warn_of_unlogged_actions(const LearnOutcome& outcome, const LearnContext& context, Warnings& warnings) {
  const std::string never = unlogged_actions_text(context.action_counts, context.action_names);
  if (never.empty() || !outcome.exploration) return;
  const double share = unlogged_share(outcome, context);
  const bool one = unlogged_actions(context.action_counts).size() == 1;
  warnings.push_back(
      fmt::format("{}, and this policy gives {} {:.3g} % of its probability: the rows say nothing about what {}{}",
                  never, one ? "it" : "them", 100 * share, one ? "it does" : "they do",
                  share > kExplainingShare ? ", so its estimate cannot be trusted" : ""));
}

void warn_of_few_effective_rows(const LearnOutcome& outcome, const LearnContext& context, Warnings& warnings) {
  const ObjectiveValue& value = outcome.learned.value;
  if (!value.ess || !(*value.ess < kUnreliableEssShare * value.rows)) return;
  warnings.push_back(fmt::format(
      "the effective sample size of this policy on its own training rows is {:.0f} of {:.0f}: its estimated risk is "
      "worth nothing; use {}",
      *value.ess, value.rows, nearer_options(outcome, context)));
}

/// Weights that do not average to one: on the rows learned from, or on those held out.
void warn_of_weights(const LearnOutcome& outcome, const LearnContext& context, Warnings& warnings) {
  const MeanWeight training = training_weight(outcome), held_out = held_out_weight(outcome);
  const bool on_training = is_distrusted(training);
  if (!on_training && !is_distrusted(held_out)) return;
  if (unlogged_share(outcome, context) > kExplainingShare) return;  // that has been said
  std::string averages =
      fmt::format("its weights average {:.4g} instead of 1 on {}", on_training ? training.mean : held_out.mean,
                  on_training ? "its training rows" : "the rows held out");
  if (on_training && is_distrusted(held_out)) averages += fmt::format(" and {:.4g} on those held out", held_out.mean);
  const double mean = on_training ? training.mean : held_out.mean;
  const std::string reason = left_logged_actions(outcome, context, mean) ? "it plays actions far from those logged"
                             : mean < 1 || !propensities_hold(outcome)
                                 ? "it plays actions far from those logged, or the recorded propensities are wrong"
                                 : "a few rows with large weights decide what it looks like";
  warnings.push_back(fmt::format("{}: {}. Its estimate cannot be trusted; use {}", averages, reason,
                                 nearer_options(outcome, context)));
}

/// Losses far from zero, from which policies gain by the sum of their weights; or of which this one did.
void warn_of_far_losses(const LearnOutcome& outcome, const LearnContext& context, Warnings& warnings) {
  const RiskForm form = find_learning_estimator(context.estimator).learning->form;
  // A ratio takes the mean off, labels and models have taken it off.
  const bool matters = form == RiskForm::average || form == RiskForm::smoothed;
  const double spread = context.loss.standard_deviation(), mean = context.loss.true_mean();
  if (!matters || context.centred || !(spread > 0)) return;
  const bool far = std::abs(mean) > kFarFromZero * spread;
  const MeanWeight weight = training_weight(outcome);
  const bool gained = weight.is_off(kNotableDistance, kNotableErrors) && (weight.mean < 1) == (mean > 0) && mean != 0;
  if (!far && !gained) return;
  warnings.push_back(fmt::format(
      "{} {} (mean {}, standard deviation {}), and {} then prefers policies by the sum of their weights{} rather than "
      "by "
      "what they do; --centre-losses takes their mean off first, and --estimator snips does not care where zero lies",
      context.outcome == Outcome::reward ? "rewards" : "losses", far ? "lie far from zero" : "do not lie around zero",
      human_number(in_sign(mean, context.outcome)), human_number(spread), context.estimator,
      gained ? fmt::format(" (those of this one average {:.4g} instead of 1)", weight.mean) : ""));
}

void warn_of_little_exploration(const LearnOutcome& outcome, const LearnContext& context, Warnings& warnings) {
  if (!outcome.exploration || (!context.labels && outcome.exploration->mean_probability.size() == 1)) return;
  const std::vector<std::size_t> vanishing = vanishing_actions(outcome);
  if (!vanishing.empty()) {
    warnings.push_back(fmt::format(
        "{} will hardly ever be {} again ({}), so nothing more can be learned about {}; a larger --epsilon keeps the "
        "loop alive",
        counted(static_cast<std::int64_t>(vanishing.size()), context.labels ? "label" : "action"),
        context.labels ? "varied" : "taken", listed_actions(vanishing, context.action_names),
        vanishing.size() == 1 ? "it" : "them"));
  } else if (outcome.exploration->decided > kNearlyAll) {
    warnings.push_back(fmt::format(
        "{} more than 99 % in {:.3g} % of the rows, so its next logs will hardly show what anything else would have "
        "done; a larger --epsilon keeps the loop alive",
        context.labels ? "of a label's two values one has" : "one action has", 100 * outcome.exploration->decided));
  }
}

/// What an evaluation says of the rows held out. It knows of wrong propensities alone; here more is known.
void add_held_out_warnings(const LearnOutcome& outcome, const LearnContext& context, Warnings& warnings) {
  if (!outcome.held_out) return;
  std::string reason;
  if (unlogged_share(outcome, context) > kExplainingShare) {
    reason = fmt::format("this policy takes actions that were never logged ({})",
                         listed_actions(unlogged_actions(context.action_counts), context.action_names));
  } else if (const MeanWeight weight = held_out_weight(outcome);
             is_distrusted(weight) && left_logged_actions(outcome, context, weight.mean)) {
    reason = "this policy plays actions far from those logged";
  }
  for (std::string warning : outcome.held_out->diagnostics.warnings) {
    const std::size_t colon = warning.find(": ");
    if (!reason.empty() && warning.starts_with(kWeightsAverage) && colon != std::string::npos)
      warning = warning.substr(0, colon + 2) + reason;
    warnings.push_back("held out: " + warning);
  }
}

}  // namespace

std::vector<std::size_t> vanishing_actions(const LearnOutcome& outcome) {
  std::vector<std::size_t> vanishing;
  const bool bits = outcome.learned.policy.kind == PolicyKind::multilabel;
  for (std::size_t k = 0; k < outcome.exploration->mean_probability.size(); ++k) {
    const double p = outcome.exploration->mean_probability[k];
    if (std::min(p, bits ? 1 - p : p) * outcome.learned.value.rows < 1) vanishing.push_back(k);
  }
  return vanishing;
}

double in_sign(double loss, Outcome outcome) {
  return outcome == Outcome::reward ? 0.0 - loss : loss;
}

std::vector<std::string> learning_warnings(const LearnOutcome& outcome, const LearnContext& context) {
  Warnings warnings;
  warn_of_search(outcome, warnings);
  warn_of_unlogged_actions(outcome, context, warnings);
  warn_of_few_effective_rows(outcome, context, warnings);
  warn_of_weights(outcome, context, warnings);
  warn_of_far_losses(outcome, context, warnings);
  warn_of_little_exploration(outcome, context, warnings);
  add_held_out_warnings(outcome, context, warnings);
  return warnings;
}

}  // namespace scrm
