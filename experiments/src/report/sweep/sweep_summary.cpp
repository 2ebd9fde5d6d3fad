#include "report/sweep/sweep_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scrm/kernels/weights/moments.hpp"

namespace scrm {
namespace {

std::string label_of(const SweepCell& cell) {
  if (has_automatic_l2(cell)) return cell.method + (cell.lambda_rule == "auto" ? " (auto λ, l2)" : " (auto l2)");
  if (cell.lambda_rule == "auto") return cell.method + " (auto λ)";
  if (cell.lambda_rule == "theory") return cell.method + " (theory λ)";
  return cell.method;
}

/// `values` gives the numbers of a run, one a rollout.
template <class Values>
LearningCurve mean_of(const std::vector<const RunRecord*>& runs, const Values& values) {
  LearningCurve curve;
  for (std::size_t m = 0;; ++m) {
    Moments value, rows;
    for (const RunRecord* run : runs) {
      const std::vector<double>* numbers = run->ok ? values(*run) : nullptr;
      if (numbers == nullptr || m >= numbers->size() || !std::isfinite((*numbers)[m])) continue;
      value.merge(Moments::of((*numbers)[m]));
      if (m < run->rows.size()) rows.merge(Moments::of(static_cast<double>(run->rows[m])));
    }
    const bool longer = std::any_of(runs.begin(), runs.end(), [&](const RunRecord* run) {
      const std::vector<double>* numbers = run->ok ? values(*run) : nullptr;
      return numbers != nullptr && m < numbers->size();
    });
    if (!longer) return curve;
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    curve.rows.push_back(rows.count > 0 ? rows.mean : kNaN);
    curve.mean.push_back(value.count > 0 ? value.mean : kNaN);
    curve.sd.push_back(value.count > 1 ? std::sqrt(value.square_sum / (value.count - 1)) : kNaN);
    curve.seeds.push_back(value.count);
  }
}

}  // namespace

LearningCurve mean_curve(const std::vector<const RunRecord*>& runs, const std::string& name) {
  LearningCurve curve = mean_of(runs, [&name](const RunRecord& run) -> const std::vector<double>* {
    const auto found = run.curves.find(name);
    return found != run.curves.end() ? &found->second : nullptr;
  });
  const bool any = std::any_of(curve.seeds.begin(), curve.seeds.end(), [](double seeds) { return seeds > 0; });
  return any ? curve : LearningCurve{};
}

SweepSummary summarize(const std::vector<RunRecord>& runs) {
  SweepSummary summary;
  summary.cells = sweep_cells(runs);
  for (const SweepCell& cell : summary.cells) {
    if (cell.lambda_rule == "given" && !cell.best) continue;
    auto environment = std::find_if(summary.environments.begin(), summary.environments.end(),
                                    [&cell](const EnvironmentSummary& one) { return one.name == cell.environment; });
    if (environment == summary.environments.end())
      environment = summary.environments.insert(environment, {cell.environment, {}});
    SummaryLine line{.cell = cell, .label = label_of(cell), .runs = {}, .curve = {}};
    for (const RunRecord& run : runs) {
      if (belongs(run, cell)) line.runs.push_back(&run);
    }
    line.curve = mean_of(line.runs, [](const RunRecord& run) { return &run.loss; });
    line.learns = std::any_of(line.curve.rows.begin(), line.curve.rows.end(), [](double rows) { return rows > 0; });
    // Rules of one name but different l2 are told apart by it.
    if (find_line(*environment, line.label) != nullptr && cell.l2) line.label += ", l2 " + l2_text(cell);
    if (std::find(summary.labels.begin(), summary.labels.end(), line.label) == summary.labels.end())
      summary.labels.push_back(line.label);
    environment->lines.push_back(std::move(line));
  }
  return summary;
}

const SummaryLine* find_line(const EnvironmentSummary& environment, const std::string& label) {
  const auto found = std::find_if(environment.lines.begin(), environment.lines.end(),
                                  [&label](const SummaryLine& line) { return line.label == label; });
  return found != environment.lines.end() ? &*found : nullptr;
}

}  // namespace scrm
