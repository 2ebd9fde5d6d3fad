#include "report/text/evaluation_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/terminal.hpp"
#include "report/text/estimate_format.hpp"
#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json estimate_json(const Estimate& estimate) {
  Json json = {{"estimator", estimate.estimator},
               {"value", number_or_null(estimate.value)},
               {"stderr", number_or_null(estimate.standard_error)},
               {"low", number_or_null(estimate.low)},
               {"high", number_or_null(estimate.high)},
               {"parameter", number_or_null(estimate.parameter)}};
  if (estimate.confidence) json["confidence"] = *estimate.confidence;
  return json;
}

Json diagnostics_json(const Diagnostics& diagnostics) {
  return {{"mean_weight", number_or_null(diagnostics.mean_weight)},
          {"mean_weight_z", number_or_null(diagnostics.mean_weight_z)},
          {"ess", number_or_null(diagnostics.ess)},
          {"max_weight", number_or_null(diagnostics.max_weight)},
          {"max_weight_share", number_or_null(diagnostics.max_weight_share)},
          {"warnings", diagnostics.warnings}};
}

std::string parameter_text(const Estimate& estimate) {
  if (!estimate.parameter) return "";
  const Estimator& estimator = find_estimator(estimate.estimator);
  if (estimator.tuned) return fmt::format("{} = {:.4g}", estimator.tuned->symbol, *estimate.parameter);
  const bool clip = estimator.parameter == EstimatorParameter::clip;
  return fmt::format("{} = {:.4g}", estimator.smoothed_terms ? "lambda" : (clip ? "M" : "alpha"), *estimate.parameter);
}

Json interval_json(const EvaluationReport& report, const EvaluateOptions& options, Outcome outcome) {
  Json json = {{"kind", definition_of(options.interval).name}, {"level", options.level}};
  const bool reward = outcome == Outcome::reward;  // the engine's losses, as the user's outcome
  if (options.outcome_range) {
    const auto [low, high] = *options.outcome_range;
    json["outcome_range"] = reward ? Json{-high, -low} : Json{low, high};
  }
  if (options.max_weight) json["max_weight"] = *options.max_weight;
  if (options.loss_threshold) json["at_least"] = reward ? -*options.loss_threshold : *options.loss_threshold;
  if (options.simultaneous) json["simultaneous"] = true;
  if (!report.interval_assumption.empty()) json["assumes"] = report.interval_assumption;
  return json;
}

Json estimates_json(const std::vector<Estimate>& estimates) {
  Json out = Json::array();
  for (const Estimate& estimate : estimates) out.push_back(estimate_json(estimate));
  return out;
}

Json difference_json(const std::optional<Difference>& difference) {
  if (!difference) return nullptr;
  return {{"baseline", difference->baseline}, {"estimates", estimates_json(difference->estimates)}};
}

/// The estimates that a table shows of a policy; null: it is left out.
using ShownEstimates = const std::vector<Estimate>* (*)(const PolicyReport& policy);

std::string confidence_text(const std::optional<double>& confidence) {
  if (!confidence) return "-";
  // Certainty is not to be had: what rounds to it is said to be beyond the last digit.
  constexpr double kAlmost = 0.9999;
  if (*confidence > kAlmost) return "> 99.99 %";
  if (*confidence < 1 - kAlmost) return "< 0.01 %";
  return fmt::format("{:.2f} %", 100 * *confidence);
}

std::string estimates_table(const EvaluationReport& report, const EvaluateOptions& options, const char* value_name,
                            const std::string& confidence_name, ShownEstimates shown_estimates) {
  using Align = Table::Align;
  const char* kind = options.simultaneous ? "simultaneous" : definition_of(options.interval).name;
  std::vector<std::string> heads = {"policy", "estimator", value_name, "std. error",
                                    fmt::format("{:g} % interval ({})", options.level * 100, kind)};
  std::vector<Align> aligned = {Align::left, Align::left, Align::right, Align::right, Align::right};
  if (options.loss_threshold) {
    heads.push_back(confidence_name);
    aligned.push_back(Align::right);
  }
  heads.emplace_back("");
  aligned.push_back(Align::left);
  Table table(heads, aligned);
  for (const PolicyReport& policy : report.policies) {
    const std::vector<Estimate>* estimates = shown_estimates(policy);
    if (estimates == nullptr) continue;
    bool first = true;
    for (const Estimate& estimate : *estimates) {
      const int decimals = decimals_for(estimate.standard_error, estimate.value.value_or(0));
      const std::string interval = interval_text(estimate.low, estimate.high, decimals);
      std::vector<std::string> cells = {first ? styled(policy.name, Style::strong) : "", estimate.estimator,
                                        shown(estimate.value, decimals), shown(estimate.standard_error, decimals),
                                        interval};
      if (options.loss_threshold) cells.push_back(confidence_text(estimate.confidence));
      cells.push_back(styled(parameter_text(estimate), Style::dim));
      table.add(cells);
      first = false;
    }
  }
  return table.text(2);
}

/// Policy minus baseline, under a line that says what is compared. Nothing where there is no baseline.
std::string difference_text(const EvaluationReport& report, const EvaluateOptions& options, Outcome outcome) {
  const auto compared = std::find_if(report.policies.begin(), report.policies.end(), [](const PolicyReport& policy) {
    return policy.difference && !policy.difference->estimates.empty();
  });
  if (compared == report.policies.end()) return {};
  const std::string& name = compared->difference->baseline;
  const std::string baseline = name == kLoggedBaseline
                                   ? fmt::format("the mean {} of the logged actions", to_string(outcome))
                                   : styled(name, Style::plain);
  return fmt::format("\npolicy minus {}, paired on the same rows:\n", baseline) +
         estimates_table(report, options, "difference", "better", [](const PolicyReport& policy) {
           return policy.difference ? &policy.difference->estimates : nullptr;
         });
}

std::string diagnostics_table(const EvaluationReport& report) {
  using Align = Table::Align;
  Table table({"policy", "mean weight", "z", "ESS", "ESS share", "largest weight", "its share"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const PolicyReport& policy : report.policies) {
    const Diagnostics& d = policy.diagnostics;
    const double rows = static_cast<double>(report.rows);
    const auto percent = [](const std::optional<double>& share) {
      return share ? fmt::format("{:.3g} %", 100 * *share) : std::string("-");
    };
    table.add({styled(policy.name, Style::strong), d.mean_weight ? fmt::format("{:.5g}", *d.mean_weight) : "-",
               d.mean_weight_z ? fmt::format("{:+.2f}", *d.mean_weight_z) : "-",
               d.ess ? with_commas(std::llround(*d.ess)) : "-",
               percent(d.ess ? std::optional(*d.ess / rows) : std::nullopt),
               d.max_weight ? human_number(*d.max_weight) : "-", percent(d.max_weight_share)});
  }
  return table.text(2);
}

}  // namespace

Json evaluation_json(const EvaluationReport& report, const EvaluateOptions& options, const EvaluationContext& context,
                     const std::vector<WeightHistogram>& histograms) {
  Json policies = Json::array();
  for (const PolicyReport& policy : report.policies) {
    policies.push_back({{"name", policy.name},
                        {"estimates", estimates_json(policy.estimates)},
                        {"difference", difference_json(policy.difference)},
                        {"diagnostics", diagnostics_json(policy.diagnostics)}});
  }
  for (std::size_t p = 0; p < histograms.size(); ++p) policies[p]["weights"] = histogram_json(histograms[p]);
  Json reasons = Json::object();
  for (int reason = 0; reason < kBadRowReasons; ++reason) {
    const std::int64_t count = report.audit.counts[static_cast<std::size_t>(reason)];
    if (count > 0) reasons[key(static_cast<BadRowReason>(reason))] = count;
  }
  Json json = {
      {"rows", report.rows},
      {"skipped_rows", report.skipped_rows},
      {"skipped_rows_by_reason", std::move(reasons)},
      {"seconds", context.seconds},
      {"threads", context.threads},
      {"outcome", to_string(context.outcome)},
      {"interval", interval_json(report, options, context.outcome)},
      {"logged_loss", {{"mean", report.loss.true_mean()}, {"min", report.loss.lowest}, {"max", report.loss.highest}}},
      {"policies", std::move(policies)},
      {"warnings", context.warnings}};
  if (report.clusters) json["clusters"] = *report.clusters;
  if (report.clusters_merged) json["clusters_merged"] = true;
  if (!report.model.empty())
    json["model"] = {{"name", report.model}, {"penalty", number_or_null(report.model_penalty)}};
  return json;
}

Json histogram_json(const WeightHistogram& histogram) {
  Json bins = Json::array();
  for (int bin = 0; bin < WeightHistogram::kBins; ++bin) {
    if (histogram.count(bin) == 0) continue;
    const double low = WeightHistogram::lower_edge(bin);
    const double high = bin == 0 ? 0 : WeightHistogram::lower_edge(bin + 1);
    bins.push_back({{"low", low}, {"high", high}, {"rows", histogram.count(bin)}});
  }
  return bins;
}

std::string evaluation_text(const EvaluationReport& report, const EvaluateOptions& options,
                            const EvaluationContext& context) {
  const double rate = context.seconds > 0 ? static_cast<double>(report.rows) / context.seconds : 0;
  const std::optional<double>& shown_error = report.loss_error;
  const int decimals = decimals_for(shown_error, report.loss.mean);
  std::string text = fmt::format("{} in {} ({:.1f} million rows/s on {})\n", counted(report.rows, "row"),
                                 human_seconds(context.seconds), rate / 1e6, counted(context.threads, "thread"));
  if (report.clusters_merged)
    text += fmt::format("in very many clusters, put together into {}: rows of one are not taken as independent\n",
                        counted(*report.clusters, "group"));
  else if (report.clusters)
    text += fmt::format("in {}: rows of one are not taken as independent\n", counted(*report.clusters, "cluster"));
  text += fmt::format("mean {} of the logged actions: {}{}\n\n", to_string(context.outcome),
                      styled(shown(report.loss.true_mean(), decimals), Style::strong),
                      shown_error ? fmt::format(" (std. error {})", shown(shown_error, decimals)) : "");
  if (!report.model.empty())
    text += fmt::format("model: {}{}\n\n", report.model,
                        report.model_penalty ? fmt::format(" (penalty {:g})", *report.model_penalty) : "");
  // The engine's losses, as the user's outcome.
  const double loss_threshold = (context.outcome == Outcome::reward ? -1 : 1) * options.loss_threshold.value_or(0);
  const std::string beats =
      fmt::format("{} {:g}", context.outcome == Outcome::reward ? "at least" : "at most", loss_threshold);
  text +=
      estimates_table(report, options, "value", beats, [](const PolicyReport& policy) { return &policy.estimates; });
  if (!report.interval_assumption.empty()) text += fmt::format("  (intervals assume {})\n", report.interval_assumption);
  text += difference_text(report, options, context.outcome) + "\n" + diagnostics_table(report);
  if (report.skipped_rows > 0) {
    text += fmt::format("\n{} {} left out:\n", counted(report.skipped_rows, "bad row"),
                        report.skipped_rows == 1 ? "was" : "were");
    for (int reason = 0; reason < kBadRowReasons; ++reason) {
      const std::int64_t count = report.audit.counts[static_cast<std::size_t>(reason)];
      if (count > 0)
        text += fmt::format("  {:>12}  {}\n", with_commas(count), to_string(static_cast<BadRowReason>(reason)));
    }
  }
  return text;
}

}  // namespace scrm
