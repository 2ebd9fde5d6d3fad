#include "report/learning_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/enum_names.hpp"
#include "report/terminal.hpp"
#include "scrm/engine/policy_kind.hpp"

namespace scrm {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUnreliableEssShare = 0.01;
constexpr std::size_t kPathLines = 12;

Json number_or_null(const std::optional<double>& value) {
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

Json outcome_json(const LearnOutcome& outcome) {
  const LearnedPolicy& learned = outcome.learned;
  Json json = {{"objective", number_or_null(learned.value.objective)},
               {"risk", number_or_null(learned.value.risk)},
               {"penalty", number_or_null(learned.value.penalty)},
               {"ridge", number_or_null(learned.value.ridge)},
               {"lambda", learned.lambda},
               {"theta", theta_json(learned.policy)},
               {"iterations", learned.search.iterations},
               {"evaluations", learned.search.evaluations},
               {"gradient_norm", number_or_null(learned.search.gradient_norm)},
               {"converged", learned.search.status == MinimizeStatus::converged},
               {"status", to_string(learned.search.status)},
               {"ess", number_or_null(learned.value.ess)},
               {"rows", static_cast<std::int64_t>(learned.value.rows)}};
  if (outcome.held_out) {
    json["held_out"] = {{"value", number_or_null(outcome.held_out->value)},
                        {"stderr", number_or_null(outcome.held_out->standard_error)},
                        {"low", number_or_null(outcome.held_out->low)},
                        {"high", number_or_null(outcome.held_out->high)}};
  }
  json["warnings"] = learning_warnings(outcome);
  json["out"] = outcome.path;
  return json;
}

/// The first and last lines of the path and some in between.
std::string path_table(const std::vector<PathPoint>& path) {
  using Align = Table::Align;
  Table table({"evaluation", "objective", "risk", "penalty", "gradient norm", "ESS"},
              {Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  const std::size_t step = std::max<std::size_t>(1, (path.size() + kPathLines - 1) / kPathLines);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i % step != 0 && i + 1 != path.size()) continue;
    const PathPoint& point = path[i];
    table.add({std::to_string(point.evaluation), fmt::format("{:.6f}", point.objective),
               fmt::format("{:.6f}", point.risk), fmt::format("{:.6f}", point.penalty),
               fmt::format("{:.2e}", point.gradient_norm), point.ess ? with_commas(std::llround(*point.ess)) : "-"});
  }
  return table.text(2);
}

std::string held_out_text(const LearnOutcome& outcome, const LearnContext& context) {
  if (!outcome.held_out) return "  no rows were held out (--holdout 0): the risk above is an optimist's\n";
  const Estimate& estimate = *outcome.held_out;
  if (!estimate.value) return "  the rows held out give no estimate\n";
  const std::string interval =
      estimate.low && estimate.high
          ? fmt::format(", 95 % interval [{}, {}]", human_number(*estimate.low), human_number(*estimate.high))
          : "";
  return fmt::format("  on {} held out ({:g} %), {}: {}{}\n", counted(context.held_out_rows, "row"),
                     context.holdout * 100, context.estimator, styled(human_number(*estimate.value), Style::strong),
                     interval);
}

}  // namespace

std::vector<std::string> learning_warnings(const LearnOutcome& outcome) {
  std::vector<std::string> warnings;
  const ObjectiveValue& value = outcome.learned.value;
  const MinimizeStatus status = outcome.learned.search.status;
  if (status == MinimizeStatus::zero_gradient) {
    warnings.push_back(
        "the gradient is zero at the start: every weight has vanished there; start nearer to the logged "
        "actions with --start, or use a larger --scale");
  } else if (status != MinimizeStatus::converged) {
    warnings.push_back(fmt::format("the search {}; the best point found was kept", to_string(status)));
  }
  if (outcome.learned.other_minimum) {
    warnings.push_back(fmt::format(
        "a search from the same start also converged at an objective of {:.4f} instead of {:.4f}: there are "
        "several minima, and the lower one was kept; --restarts looks for lower ones still",
        *outcome.learned.other_minimum, outcome.learned.search.value));
  }
  if (value.ess && *value.ess < kUnreliableEssShare * value.rows) {
    warnings.push_back(
        fmt::format("the effective sample size of this policy on its own training rows is {:.0f} of {:.0f}: its "
                    "estimated risk is worth nothing; use a larger --lambda or a larger --scale",
                    *value.ess, value.rows));
  }
  for (const std::string& warning : outcome.held_out_diagnostics.warnings) warnings.push_back("held out: " + warning);
  return warnings;
}

Json learning_json(const LearnReport& report, const std::vector<LearnOutcome>& outcomes, const LearnContext& context) {
  Json json = outcome_json(outcomes.front());
  json["seconds"] = context.seconds;
  json["threads"] = context.threads;
  json["streamed"] = context.streamed;
  json["logged_loss"] = report.loss.mean;
  json["alpha"] = report.alpha;
  if (report.clip > 0) json["clip"] = report.clip;
  if (!report.scores.empty()) {
    json["lambda_scores"] = Json::array();
    for (const LambdaScore& score : report.scores) {
      json["lambda_scores"].push_back({{"lambda", score.lambda}, {"risk", number_or_null(score.risk)}});
    }
  }
  if (outcomes.size() > 1) {
    json["policies"] = Json::array();
    for (const LearnOutcome& outcome : outcomes) json["policies"].push_back(outcome_json(outcome));
  }
  return json;
}

std::string learning_text(const LearnReport& report, const std::vector<LearnOutcome>& outcomes,
                          const LearnContext& context) {
  std::string text;
  if (!report.scores.empty()) {
    Table table({"lambda", "held-out risk"}, {Table::Align::right, Table::Align::right});
    for (const LambdaScore& score : report.scores) table.add({human_number(score.lambda), human_number(score.risk)});
    text += "lambda by three random splits\n" + table.text(2) + "\n";
  }
  for (const LearnOutcome& outcome : outcomes) {
    const LearnedPolicy& learned = outcome.learned;
    text += fmt::format("{} with lambda = {} (penalty {}): {} after {}, {}\n", context.estimator,
                        human_number(learned.lambda), name_of(kPenaltyNames, context.penalty),
                        to_string(learned.search.status), counted(learned.search.iterations, "iteration"),
                        counted(learned.search.evaluations, "evaluation"));
    text += path_table(learned.path);
    text += fmt::format("\n  risk on {}: {} (the logged actions cost {})\n",
                        counted(static_cast<std::int64_t>(learned.value.rows), "training row"),
                        human_number(learned.value.risk), human_number(report.loss.mean));
    text += held_out_text(outcome, context);
    text += fmt::format("  written to {}\n", styled(outcome.path, Style::strong));
    text += "\n";
  }
  text +=
      fmt::format("{}{}\n", human_seconds(context.seconds), context.streamed ? ", rows streamed from the shards" : "");
  return text;
}

}  // namespace scrm
