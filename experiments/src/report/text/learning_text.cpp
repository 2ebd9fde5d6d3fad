#include "report/text/learning_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/enum_names.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/estimate/as_rewards.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/policy/policy_kind.hpp"

namespace scrm {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUnreliableEssShare = 0.01;
/// Standard deviations of the outcome between its mean and zero above which noise of the weights outweighs the rest.
constexpr double kFarFromZero = 2;
// A policy that has decided more of the rows than this explores in name only.
constexpr double kNearlyAll = 0.9;
constexpr std::size_t kPathLines = 12;

Json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json theta_json(const Policy& policy) {
  if (policy_kind(policy.kind).format.theta == ThetaRows::one) return policy.theta;
  Json rows = Json::array();
  const auto length = static_cast<std::ptrdiff_t>(policy.row_length());
  for (auto it = policy.theta.begin(); it != policy.theta.end(); it += length) {
    rows.push_back(std::vector<double>(it, it + length));
  }
  return rows;
}

Estimate in_sign(const Estimate& estimate, Outcome outcome) {
  return outcome == Outcome::reward ? as_rewards(estimate) : estimate;
}

/// A loss in the outcome's own sign; never -0.
double in_sign(double loss, Outcome outcome) {
  return outcome == Outcome::reward ? 0.0 - loss : loss;
}

/// The fields of an evaluation.
Json held_out_json(const LearnOutcome& outcome, const LearnContext& context) {
  const Estimate estimate = in_sign(outcome.held_out->estimates.front(), context.outcome);
  return {{"rows", outcome.held_out_rows},
          {"estimator", estimate.estimator},
          {"value", finite_or_null(estimate.value)},
          {"stderr", finite_or_null(estimate.standard_error)},
          {"low", finite_or_null(estimate.low)},
          {"high", finite_or_null(estimate.high)},
          {"parameter", finite_or_null(estimate.parameter)},
          {"interval", {{"kind", "auto"}, {"level", 0.95}}},
          {"ess", finite_or_null(outcome.held_out->diagnostics.ess)},
          {"mean_weight", finite_or_null(outcome.held_out->diagnostics.mean_weight)},
          {"max_weight", finite_or_null(outcome.held_out->diagnostics.max_weight)}};
}

/// Actions of which less than one row can be expected in as many rows as were learned from.
std::vector<std::size_t> vanishing_actions(const LearnOutcome& outcome) {
  std::vector<std::size_t> vanishing;
  const bool bits = outcome.learned.policy.kind == PolicyKind::multilabel;
  for (std::size_t k = 0; k < outcome.exploration->mean_probability.size(); ++k) {
    const double p = outcome.exploration->mean_probability[k];
    if (std::min(p, bits ? 1 - p : p) * outcome.learned.value.rows < 1) vanishing.push_back(k);
  }
  return vanishing;
}

Json exploration_json(const LearnOutcome& outcome) {
  const Exploration& exploration = *outcome.exploration;
  return {{"smallest_probability", exploration.smallest_probability},
          {"decided_share", exploration.decided},
          {"next_ess_share", exploration.ess_share},
          {"vanishing_actions", vanishing_actions(outcome)}};
}

std::string exploration_text(const LearnOutcome& outcome) {
  if (!outcome.exploration) return "";
  const Exploration& exploration = *outcome.exploration;
  return fmt::format(
      "  explores: no action less likely than {:.2g}, one above 99 % in {:.3g} % of rows; its next logs are worth "
      "{:.3g} % of their rows for judging a uniform policy\n",
      exploration.smallest_probability, 100 * exploration.decided, 100 * exploration.ess_share);
}

Json outcome_json(const LearnOutcome& outcome, const LearnContext& context) {
  const LearnedPolicy& learned = outcome.learned;
  Json json = {{"objective", finite_or_null(learned.value.objective)},
               {"risk", finite_or_null(learned.value.risk)},
               {"value", finite_or_null(in_sign(learned.value.risk, context.outcome))},
               {"penalty", finite_or_null(learned.value.penalty)},
               {"ridge", finite_or_null(learned.value.ridge)},
               {"lambda", learned.lambda},
               {"theta", theta_json(learned.policy)},
               {"iterations", learned.search.iterations},
               {"evaluations", learned.search.evaluations},
               {"gradient_norm", finite_or_null(learned.search.gradient_norm)},
               {"converged", learned.search.status == MinimizeStatus::converged},
               {"status", to_string(learned.search.status)},
               {"ess", finite_or_null(learned.value.ess)},
               {"rows", static_cast<std::int64_t>(learned.value.rows)}};
  if (context.chose_l2) json["l2"] = learned.l2;
  if (context.min_scale || context.chose_scale) json["scale"] = learned.policy.scale;
  if (outcome.held_out) json["held_out"] = held_out_json(outcome, context);
  if (outcome.exploration) json["exploration"] = exploration_json(outcome);
  std::vector<std::string> warnings = context.data_warnings;
  for (const std::string& warning : learning_warnings(outcome, context)) warnings.push_back(warning);
  json["warnings"] = std::move(warnings);
  json["out"] = outcome.path;
  return json;
}

/// What each candidate did on held-out rows.
Json scores_json(const std::vector<LambdaScore>& scores, bool ridges, Outcome outcome) {
  Json json = Json::array();
  for (const LambdaScore& score : scores) {
    Json one = {{"lambda", score.lambda}};
    if (ridges) one["l2"] = score.l2;
    one["risk"] = finite_or_null(score.risk);
    one["value"] = finite_or_null(in_sign(score.risk, outcome));
    json.push_back(std::move(one));
  }
  return json;
}

/// The same for people; `ridges`: what was chosen is l2, for every λ.
std::string scores_table(const std::vector<LambdaScore>& scores, bool ridges, Outcome outcome) {
  using Align = Table::Align;
  const bool several = ridges && scores.front().lambda != scores.back().lambda;
  std::vector<std::string> header;
  if (!ridges || several) header.emplace_back("lambda");
  if (ridges) header.emplace_back("l2");
  header.emplace_back(outcome == Outcome::reward ? "held-out reward" : "held-out risk");
  Table table(header, std::vector<Align>(header.size(), Align::right));
  for (const LambdaScore& score : scores) {
    std::vector<std::string> row;
    if (!ridges || several) row.push_back(human_number(score.lambda));
    if (ridges) row.push_back(human_number(score.l2));
    row.push_back(human_number(in_sign(score.risk, outcome)));
    table.add(std::move(row));
  }
  return fmt::format("{} by three random splits\n{}\n", ridges ? "l2" : "lambda", table.text(2));
}

/// The first and last lines of the path and some in between.
std::string path_table(const std::vector<PathPoint>& path, Outcome outcome) {
  using Align = Table::Align;
  Table table(
      {"evaluation", "objective", outcome == Outcome::reward ? "reward" : "risk", "penalty", "gradient norm", "ESS"},
      {Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  const std::size_t step = std::max<std::size_t>(1, (path.size() + kPathLines - 1) / kPathLines);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i % step != 0 && i + 1 != path.size()) continue;
    const PathPoint& point = path[i];
    table.add({std::to_string(point.evaluation), fmt::format("{:.6f}", point.objective),
               fmt::format("{:.6f}", in_sign(point.risk, outcome)), fmt::format("{:.6f}", point.penalty),
               fmt::format("{:.2e}", point.gradient_norm), point.ess ? with_commas(std::llround(*point.ess)) : "-"});
  }
  return table.text(2);
}

std::string held_out_text(const LearnOutcome& outcome, const LearnContext& context) {
  if (!outcome.held_out) return "  no rows were held out (--holdout 0): the number above is an optimist's\n";
  const Estimate estimate = in_sign(outcome.held_out->estimates.front(), context.outcome);
  if (!estimate.value) return "  the rows held out give no estimate\n";
  const std::string interval =
      estimate.low && estimate.high
          ? fmt::format(", 95 % interval [{}, {}]", human_number(*estimate.low), human_number(*estimate.high))
          : "";
  const std::optional<double>& ess = outcome.held_out->diagnostics.ess;
  return fmt::format("  on {} held out ({:g} %), {}: {}{}{}\n", counted(outcome.held_out_rows, "row"),
                     context.holdout * 100, context.estimator, styled(human_number(*estimate.value), Style::strong),
                     interval, ess ? fmt::format(", ESS {}", with_commas(std::llround(*ess))) : "");
}

/// The names of the first few, or their numbers.
std::string listed_actions(const std::vector<std::size_t>& actions, const LearnContext& context) {
  constexpr std::size_t kListed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kListed, actions.size()); ++i) {
    const std::size_t action = actions[i];
    text += i > 0 ? ", " : "";
    text += context.action_names.empty() ? std::to_string(action) : context.action_names[action];
  }
  return actions.size() > kListed ? text + ", ..." : text;
}

}  // namespace

std::vector<std::string> learning_warnings(const LearnOutcome& outcome, const LearnContext& context) {
  std::vector<std::string> warnings;
  const ObjectiveValue& value = outcome.learned.value;
  const MinimizeStatus status = outcome.learned.search.status;
  if (status == MinimizeStatus::zero_gradient && value.ess && *value.ess >= 1) {
    warnings.push_back(
        "the gradient is zero at the start, where weights are not: no policy of this kind does anything else on these "
        "rows, so there was nothing to learn");
  } else if (status == MinimizeStatus::zero_gradient) {
    warnings.push_back(
        "the gradient is zero at the start: every weight has vanished there; start nearer to the logged "
        "actions with --start, or use a larger --scale");
  } else if (status != MinimizeStatus::converged) {
    warnings.push_back(fmt::format("the search {}; the best point found was kept", to_string(status)));
  }
  if (outcome.learned.other_minimum) {
    warnings.push_back(
        fmt::format("another search ended at an objective of {:.4f} instead of {:.4f}: there are "
                    "several minima, and the lower one was kept; --restarts looks for lower ones still",
                    *outcome.learned.other_minimum, outcome.learned.search.value));
  }
  if (value.ess && *value.ess < kUnreliableEssShare * value.rows) {
    warnings.push_back(
        fmt::format("the effective sample size of this policy on its own training rows is {:.0f} of {:.0f}: its "
                    "estimated risk is worth nothing; use a larger --lambda or a larger --scale",
                    *value.ess, value.rows));
  }
  const double spread = context.loss.standard_deviation();
  // What a model expects is taken off, or is all there is.
  const bool far_matters = context.estimator != "snips" && !find_learning_estimator(context.estimator).needs_model;
  if (far_matters && !context.centred && spread > 0 && std::abs(context.loss.true_mean()) > kFarFromZero * spread) {
    warnings.push_back(fmt::format(
        "{} lie far from zero (mean {}, standard deviation {}), and {} then prefers policies by the sum of their "
        "weights rather than by what they do; --centre-losses takes their mean off first, and --estimator snips does "
        "not care where zero lies",
        context.outcome == Outcome::reward ? "rewards" : "losses",
        human_number(in_sign(context.loss.true_mean(), context.outcome)), human_number(spread), context.estimator));
  }
  const bool has_choice = outcome.exploration && (context.labels || outcome.exploration->mean_probability.size() != 1);
  if (has_choice) {
    const std::vector<std::size_t> vanishing = vanishing_actions(outcome);
    if (!vanishing.empty()) {
      warnings.push_back(fmt::format(
          "{} will hardly ever be {} again ({}), so nothing more can be learned about {}; a larger --epsilon keeps the "
          "loop alive",
          counted(static_cast<std::int64_t>(vanishing.size()), context.labels ? "label" : "action"),
          context.labels ? "varied" : "taken", listed_actions(vanishing, context),
          vanishing.size() == 1 ? "it" : "them"));
    } else if (outcome.exploration->decided > kNearlyAll) {
      warnings.push_back(fmt::format(
          "{} more than 99 % in {:.3g} % of the rows, so its next logs will hardly show what anything else would have "
          "done; a larger --epsilon keeps the loop alive",
          context.labels ? "of a label's two values one has" : "one action has", 100 * outcome.exploration->decided));
    }
  }
  if (!outcome.held_out) return warnings;
  for (const std::string& warning : outcome.held_out->diagnostics.warnings) warnings.push_back("held out: " + warning);
  return warnings;
}

Json learning_json(const LearnReport& report, const std::vector<LearnOutcome>& outcomes, const LearnContext& context) {
  Json json = outcome_json(outcomes.front(), context);
  json["outcome"] = to_string(context.outcome);
  json["seconds"] = context.seconds;
  json["threads"] = context.threads;
  json["streamed"] = context.streamed;
  json["logged_loss"] = report.loss.mean;
  json["logged_value"] = in_sign(report.loss.mean, context.outcome);
  json["alpha"] = report.alpha;
  if (report.clip > 0) json["clip"] = report.clip;
  if (context.tuned) json["shrinkage"] = finite_or_null(report.shrinkage);
  if (!report.scores.empty()) json["lambda_scores"] = scores_json(report.scores, false, context.outcome);
  if (!report.l2_scores.empty()) json["l2_scores"] = scores_json(report.l2_scores, true, context.outcome);
  if (outcomes.size() > 1) {
    json["policies"] = Json::array();
    for (const LearnOutcome& outcome : outcomes) json["policies"].push_back(outcome_json(outcome, context));
  }
  return json;
}

std::string learning_text(const LearnReport& report, const std::vector<LearnOutcome>& outcomes,
                          const LearnContext& context) {
  std::string text;
  if (!report.scores.empty()) text += scores_table(report.scores, false, context.outcome);
  if (!report.l2_scores.empty()) text += scores_table(report.l2_scores, true, context.outcome);
  for (const LearnOutcome& outcome : outcomes) {
    const LearnedPolicy& learned = outcome.learned;
    text += fmt::format("{} with lambda = {} (penalty {}){}: {} after {}, {}{}\n", context.estimator,
                        human_number(learned.lambda), name_of(kPenaltyNames, context.penalty),
                        report.l2_scores.empty() ? "" : fmt::format(", l2 = {}", human_number(learned.l2)),
                        to_string(learned.search.status), counted(learned.search.iterations, "iteration"),
                        counted(learned.search.evaluations, "evaluation"),
                        learned.searches > 1 ? fmt::format(" in {} searches", learned.searches) : "");
    text += path_table(learned.path, context.outcome);
    const bool reward = context.outcome == Outcome::reward;
    text += fmt::format("\n  {} on {}: {} (the logged actions {} {})\n", reward ? "reward" : "risk",
                        counted(static_cast<std::int64_t>(learned.value.rows), "training row"),
                        human_number(in_sign(learned.value.risk, context.outcome)), reward ? "earned" : "cost",
                        human_number(in_sign(report.loss.mean, context.outcome)));
    text += held_out_text(outcome, context);
    text += exploration_text(outcome);
    if (context.min_scale) {
      text += fmt::format("  learned scale: {} (at least {})\n", human_number(learned.policy.scale),
                          human_number(*context.min_scale));
    }
    if (context.chose_scale) {
      text += fmt::format("  scale: {}, half of the logged actions' spread; --scale sets another\n",
                          human_number(learned.policy.scale));
    }
    text += fmt::format("  written to {}\n", styled(outcome.path, Style::strong));
    text += "\n";
  }
  text +=
      fmt::format("{}{}\n", human_seconds(context.seconds), context.streamed ? ", rows streamed from the shards" : "");
  return text;
}

}  // namespace scrm
