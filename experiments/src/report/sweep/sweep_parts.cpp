#include "report/sweep/sweep_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/terminal.hpp"

namespace scrm {
namespace {

// More bands than this hide each other.
constexpr std::size_t kMostBands = 8;

using Json = nlohmann::ordered_json;

std::string loss_text(const SummaryLine& line) {
  const SweepCell& cell = line.cell;
  if (cell.runs == cell.failed) return "failed";
  std::string text = mean_and_spread(cell.mean, cell.sd);
  if (cell.failed > 0) text += fmt::format(" ({} of {} seeds)", cell.runs - cell.failed, cell.runs);
  return text;
}

std::string full(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number(value));
  return out;
}

/// Several λ in one environment and method: then the one that is shown was chosen.
bool has_choice(const SweepSummary& summary, const SweepCell& cell) {
  return std::count_if(summary.cells.begin(), summary.cells.end(), [&cell](const SweepCell& other) {
           return other.environment == cell.environment && other.method == cell.method &&
                  other.lambda_rule == "given" && has_automatic_l2(other) == has_automatic_l2(cell);
         }) > 1;
}

/// A further curve of every method's runs, mean over seeds.
std::vector<Series> series_by_rollout(const EnvironmentSummary& environment, const char* name) {
  std::vector<Series> out;
  for (const SummaryLine& line : environment.lines) {
    const LearningCurve curve = mean_curve(line.runs, name);
    if (curve.mean.empty()) continue;
    Series series{.name = line.label, .x = {}, .y = curve.mean};
    for (std::size_t m = 0; m < curve.mean.size(); ++m) series.x.push_back(static_cast<double>(m + 1));
    out.push_back(std::move(series));
  }
  return out;
}

}  // namespace

std::string lambda_note(const SweepCell& cell) {
  if (cell.lambda_rule != "given") return "";
  std::string text = fmt::format("{} = {:g}", has_lambda(cell) ? "λ" : cell.hyperparameter_name, cell.hyperparameter);
  if (cell.l2.value_or(0) != 0) text += ", l2 = " + l2_text(cell);
  return text;
}

ReportTable loss_table(const SweepSummary& summary) {
  ReportTable table{.name = "losses",
                    .caption =
                        "Test loss after the last rollout, mean ± standard deviation over seeds; smaller is "
                        "better. The smallest mean of each environment is bold.",
                    .columns = {{"method"}},
                    .rows = {}};
  std::vector<double> best;
  bool hindsight = false;
  for (const EnvironmentSummary& environment : summary.environments) {
    table.columns.push_back({environment.name, true});
    best.push_back(std::nan(""));
    for (const SummaryLine& line : environment.lines)
      if (!(line.cell.mean >= best.back())) best.back() = std::isnan(line.cell.mean) ? best.back() : line.cell.mean;
  }
  for (const std::string& label : summary.labels) {
    std::vector<ReportCell> row = {{label}};
    for (std::size_t e = 0; e < summary.environments.size(); ++e) {
      const SummaryLine* line = find_line(summary.environments[e], label);
      if (line == nullptr) {
        row.push_back({"—"});
        continue;
      }
      std::string text = loss_text(*line);
      if (has_choice(summary, line->cell)) {
        text += fmt::format(" [{}]", lambda_note(line->cell));
        hindsight = true;
      }
      row.push_back({text, line->cell.mean == best[e]});
    }
    table.rows.push_back(std::move(row));
  }
  if (hindsight)
    table.notes.emplace_back(
        "A number in brackets is the best of the list by its mean test loss: a choice in hindsight, which nobody has "
        "when a "
        "policy is to be learned. Lines with “auto λ” choose λ from the logs alone.");
  table.values = {{"environment", "method", "lambda_rule", "lambda", "l2", "mean", "sd", "runs", "failed"}};
  for (const EnvironmentSummary& environment : summary.environments) {
    for (const SummaryLine& line : environment.lines) {
      const SweepCell& cell = line.cell;
      table.values.push_back({cell.environment, cell.method, cell.lambda_rule, full(cell.hyperparameter),
                              has_automatic_l2(cell) ? "auto"
                              : cell.l2              ? full(*cell.l2)
                                                     : "",
                              full(cell.mean), full(cell.sd), fmt::format("{}", cell.runs),
                              fmt::format("{}", cell.failed)});
    }
  }
  return table;
}

ReportTable hyperparameter_table(const SweepSummary& summary) {
  ReportTable table{
      .name = "hyperparameters",
      .caption = "Every hyper-parameter that was tried, mean ± standard deviation over seeds.",
      .columns = {{"environment"}, {"method"}, {"hyper-parameter"}, {"loss", true}, {"seeds", true}, {""}},
      .rows = {}};
  for (const SweepCell& cell : summary.cells) {
    if (cell.lambda_rule.empty()) continue;
    const std::string note = lambda_note(cell);
    table.add({cell.environment, cell.method, note.empty() ? cell.lambda_rule : note,
               mean_and_spread(cell.mean, cell.sd), fmt::format("{} of {}", cell.runs - cell.failed, cell.runs),
               cell.best && has_choice(summary, cell) ? "best in hindsight" : ""});
  }
  return table;
}

ReportTable time_table(const SweepSummary& summary) {
  ReportTable table{
      .name = "times",
      .caption = "Time of a run and the rows that it logged, means over the seeds that succeeded.",
      .columns =
          {{"environment"}, {"method"}, {"runs", true}, {"failed", true}, {"time a run", true}, {"rows a run", true}},
      .rows = {}};
  for (const EnvironmentSummary& environment : summary.environments) {
    for (const SummaryLine& line : environment.lines) {
      double seconds = 0, rows = 0, count = 0;
      for (const RunRecord* run : line.runs) {
        if (!run->ok) continue;
        ++count;
        seconds += run->seconds;
        rows += run->rows.empty() ? 0 : static_cast<double>(run->rows.back());
      }
      table.add({environment.name, line.label, fmt::format("{}", line.cell.runs), fmt::format("{}", line.cell.failed),
                 count > 0 ? human_seconds(seconds / count) : "—",
                 count > 0 ? with_commas(std::llround(rows / count)) : "—"});
    }
  }
  return table;
}

XyChart loss_chart(const EnvironmentSummary& environment) {
  XyChart chart{.title = fmt::format("{}: loss by rows logged", environment.name),
                .x = {.label = "rows logged so far (logarithmic)", .kind = ScaleKind::logarithmic},
                .y = {.label = "test loss"},
                .series = {},
                .levels = {}};
  const bool bands = environment.lines.size() <= kMostBands;
  for (const SummaryLine& line : environment.lines) {
    if (!line.learns) {
      if (std::isfinite(line.cell.mean)) chart.levels.push_back({line.label, line.cell.mean});
      continue;
    }
    Series series{.name = line.label, .x = line.curve.rows, .y = line.curve.mean};
    const bool spread =
        std::any_of(line.curve.sd.begin(), line.curve.sd.end(), [](double sd) { return std::isfinite(sd); });
    for (std::size_t m = 0; bands && spread && m < series.y.size(); ++m) {
      series.low.push_back(line.curve.mean[m] - line.curve.sd[m]);
      series.high.push_back(line.curve.mean[m] + line.curve.sd[m]);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

XyChart ess_chart(const EnvironmentSummary& environment) {
  XyChart chart{.title = fmt::format("{}: effective sample size", environment.name),
                .x = {.label = "rollout"},
                .y = {.label = "effective rows (logarithmic)", .kind = ScaleKind::logarithmic},
                .series = {}};
  chart.series = series_by_rollout(environment, "ess");
  return chart;
}

XyChart weight_chart(const EnvironmentSummary& environment) {
  XyChart chart{.title = fmt::format("{}: mean weight", environment.name),
                .x = {.label = "rollout"},
                .y = {.label = "mean weight"},
                .series = {},
                .levels = {{"1", 1}}};
  chart.series = series_by_rollout(environment, "mean_weight");
  return chart;
}

std::vector<std::string> failure_texts(const std::vector<RunRecord>& runs) {
  struct Failure {
    std::size_t count = 0;
    const RunRecord* first = nullptr;
  };
  std::map<std::string, Failure> failures;
  std::vector<std::string> order;
  for (const RunRecord& run : runs) {
    if (run.ok) continue;
    Failure& failure = failures[run.message];
    if (failure.count++ == 0) {
      failure.first = &run;
      order.push_back(run.message);
    }
  }
  std::vector<std::string> texts;
  for (const std::string& message : order) {
    const auto& [count, first] = failures[message];
    texts.push_back(fmt::format("{} failed, the first of them {} / {} with seed {}: {}",
                                counted(static_cast<std::int64_t>(count), "run"), first->environment, first->method,
                                first->seed, message.empty() ? "no reason was recorded" : message));
  }
  return texts;
}

Json summary_json(const SweepSummary& summary) {
  Json lines = Json::array(), cells = Json::array();
  for (const EnvironmentSummary& environment : summary.environments) {
    for (const SummaryLine& line : environment.lines) {
      lines.push_back({{"environment", environment.name},
                       {"label", line.label},
                       {"mean", number(line.cell.mean)},
                       {"sd", number(line.cell.sd)},
                       {"curve",
                        {{"rows", numbers(line.curve.rows)},
                         {"mean", numbers(line.curve.mean)},
                         {"sd", numbers(line.curve.sd)},
                         {"seeds", numbers(line.curve.seeds)}}}});
    }
  }
  for (const SweepCell& cell : summary.cells) cells.push_back(Json(to_json(cell)));
  return {{"lines", std::move(lines)}, {"hyperparameters", std::move(cells)}};
}

}  // namespace scrm
