#include "report/learning/learning_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/enum_names.hpp"
#include "report/learning/learning_warnings.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/estimate/as_rewards.hpp"
#include "scrm/engine/policy/policy_kind.hpp"

namespace scrm {
namespace {

using Json = nlohmann::ordered_json;

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

Json exploration_json(const LearnOutcome& outcome) {
  const Exploration& exploration = *outcome.exploration;
  return {{"smallest_probability", exploration.smallest_probability},
          {"decided_share", exploration.decided},
          {"next_ess_share", exploration.ess_share},
          {"vanishing_actions", vanishing_actions(outcome)}};
}

/// Which features the policies can do nothing with.
std::string constant_features_text(const LearnContext& context) {
  const std::vector<std::string>& names = context.constant_features;
  if (names.empty()) return "";
  constexpr std::ptrdiff_t kListed = 5;
  std::string listed = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + std::min<std::ptrdiff_t>(kListed, std::ssize(names)), ", "));
  if (std::ssize(names) > kListed) listed += fmt::format(" and {} more", std::ssize(names) - kListed);
  const bool one = names.size() == 1;
  return fmt::format("note: {} never {} in these rows: {}\n", listed, one ? "varies" : "vary",
                     context.started ? "nothing is learned about " + std::string(one ? "it" : "them")
                                     : "the policy does nothing with " + std::string(one ? "it" : "them"));
}

/// Where the search began, unless as always.
std::string start_text(const LearnContext& context) {
  if (!context.explained) return "";
  constexpr double kNearlyAll = 0.999;
  return fmt::format(
      "starts from a regression of the logged actions on the features, which explains {}{:.3g} % of their variance\n",
      *context.explained > kNearlyAll ? "more than " : "", 100 * std::min(*context.explained, kNearlyAll));
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

}  // namespace

Json learning_json(const LearnReport& report, const std::vector<LearnOutcome>& outcomes, const LearnContext& context) {
  Json json = outcome_json(outcomes.front(), context);
  json["outcome"] = to_string(context.outcome);
  json["seconds"] = context.seconds;
  json["threads"] = context.threads;
  json["streamed"] = context.streamed;
  if (!context.constant_features.empty()) json["constant_features"] = context.constant_features;
  if (context.explained) json["start_explained_variance"] = *context.explained;
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
  std::string text = start_text(context);
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
      text += fmt::format("  scale: {}, half of the logged actions' spread{}; --scale sets another\n",
                          human_number(learned.policy.scale), context.explained ? " around this regression" : "");
    }
    text += fmt::format("  written to {}\n", styled(outcome.path, Style::strong));
    text += "\n";
  }
  text += constant_features_text(context);
  text +=
      fmt::format("{}{}\n", human_seconds(context.seconds), context.streamed ? ", rows streamed from the shards" : "");
  return text;
}

}  // namespace scrm
