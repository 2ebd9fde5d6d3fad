#include "report/text/coverage_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "report/terminal.hpp"
#include "report/text/json_number.hpp"

namespace scrm {
namespace {

/// Of a hundred: "94.7".
std::string hundredths(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.1f}", 100 * share);
}

/// "94.7 ± 0.7", and what kind of news that is.
std::string coverage_cell(const CoverageRecord& record, double level) {
  if (std::isnan(record.coverage)) return "-";
  const std::string text = fmt::format("{:.1f} ± {:.1f}", 100 * record.coverage, 100 * record.coverage_error);
  return falls_short(record, level) ? styled(text, record.warned > 0.5 ? Style::warning : Style::bad) : text;
}

Table design_table() {
  using enum Table::Align;
  return Table({"rows", "estimator", "interval", "covers %", "below", "above", "width", "median", "warned", "without"},
               {right, left, left, right, right, right, right, right, right, right});
}

void add_record(const CoverageRecord& record, const CoverageRecord* before, double level, Table& table) {
  const bool same_rows = before != nullptr && before->rows == record.rows;
  const bool same_estimator = same_rows && before->estimator == record.estimator;
  std::vector<std::string> cells = {same_rows ? "" : with_commas(record.rows), same_estimator ? "" : record.estimator,
                                    record.interval};
  if (record.logs == 0) {
    cells.emplace_back("not applicable");
  } else {
    const auto width = [](double of_normal) {
      return std::isnan(of_normal) ? std::string("-") : fmt::format("{:.2f}", of_normal);
    };
    cells.insert(cells.end(), {coverage_cell(record, level), hundredths(record.below), hundredths(record.above),
                               width(record.relative_width), width(record.median_width), hundredths(record.warned),
                               hundredths(record.without)});
  }
  table.add(std::move(cells));
}

/// Messages of intervals that do not apply, each once.
std::string inapplicable_text(const std::vector<const CoverageRecord*>& records) {
  std::vector<std::string> lines;
  for (const CoverageRecord* record : records) {
    const std::string line = fmt::format("  {}: {}\n", record->interval, printable(record->message));
    if (record->logs == 0 && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  return fmt::format("{}", fmt::join(lines, ""));
}

std::string design_text(const std::vector<const CoverageRecord*>& records, double level) {
  const StudyDesign& design = find_study_design(records.front()->design);
  Table table = design_table();
  const CoverageRecord* before = nullptr;
  for (const CoverageRecord* record : records) {
    add_record(*record, before, level, table);
    before = record;
  }
  return fmt::format("{}: {}\n  value {}, logged {}\n{}{}\n", styled(design.name, Style::strong), design.description,
                     human_number(design.value), human_number(design.logged_mean), table.text(2),
                     inapplicable_text(records));
}

/// How one kind of interval did where it can: designs with wrong propensities are left out.
struct IntervalSummary {
  std::string interval;
  int cells = 0, short_of = 0, silently = 0;
  double worst = 1;
};

std::vector<IntervalSummary> summarize(const CoverageArchive& archive) {
  std::vector<IntervalSummary> out;
  for (const CoverageRecord& record : archive.records) {
    if (std::isnan(record.coverage) || !find_study_design(record.design).right_propensities) continue;
    auto found = std::find_if(out.begin(), out.end(),
                              [&](const IntervalSummary& summary) { return summary.interval == record.interval; });
    if (found == out.end()) found = out.insert(out.end(), {.interval = record.interval});
    ++found->cells;
    found->worst = std::min(found->worst, record.coverage);
    if (!falls_short(record, archive.level)) continue;
    ++found->short_of;
    found->silently += record.warned <= 0.5;
  }
  return out;
}

std::string summary_text(const CoverageArchive& archive) {
  using enum Table::Align;
  Table table({"interval", "cells", "fall short", "of these without a warning", "worst %"},
              {left, right, right, right, right});
  for (const IntervalSummary& summary : summarize(archive)) {
    table.add({summary.interval, fmt::format("{}", summary.cells), fmt::format("{}", summary.short_of),
               fmt::format("{}", summary.silently), hundredths(summary.worst)});
  }
  return table.text();
}

}  // namespace

bool falls_short(const CoverageRecord& record, double level) {
  // The error that coverage would have were the interval right: that of what was seen is none where all missed.
  const double intervals = static_cast<double>(record.logs) * (1 - record.without);
  return record.coverage < level - 3 * std::sqrt(level * (1 - level) / intervals);
}

std::string coverage_text(const CoverageArchive& archive) {
  std::string text;
  std::vector<const CoverageRecord*> group;
  for (const CoverageRecord& record : archive.records) {
    if (!group.empty() && group.front()->design != record.design) {
      text += design_text(group, archive.level);
      group.clear();
    }
    group.push_back(&record);
  }
  if (!group.empty()) text += design_text(group, archive.level);
  return text + summary_text(archive) +
         fmt::format(
             "\nShares are in per cent, and a cell is one line above. below, above: intervals that missed the truth on "
             "that side.\nwidth: over that of the normal interval, of the means and the median. A cell falls short "
             "when it covers less than {:g} % "
             "by "
             "more than three\nMonte-Carlo errors; without a warning means in at least half of its logs.\n",
             100 * archive.level);
}

std::vector<std::string> normal_in_all_but_name(const CoverageArchive& archive) {
  std::map<std::string, bool> always;
  for (const CoverageRecord& record : archive.records) {
    if (std::isnan(record.equals_normal)) continue;
    const auto known = always.emplace(record.interval, true).first;
    known->second = known->second && record.equals_normal == 1;
  }
  std::vector<std::string> out;
  for (const auto& [interval, same] : always) {
    if (same && interval != definition_of(IntervalKind::normal).name) out.push_back(interval);
  }
  return out;
}

nlohmann::json to_json(const CoverageRecord& record) {
  nlohmann::json out = {{"design", record.design},
                        {"rows", record.rows},
                        {"estimator", record.estimator},
                        {"interval", record.interval},
                        {"coverage", json_number(record.coverage)},
                        {"coverage_error", json_number(record.coverage_error)},
                        {"below", json_number(record.below)},
                        {"above", json_number(record.above)},
                        {"relative_width", json_number(record.relative_width)},
                        {"median_width", json_number(record.median_width)},
                        {"equals_normal", json_number(record.equals_normal)},
                        {"warned", json_number(record.warned)},
                        {"warned_any", json_number(record.warned_any)},
                        {"warned_ess", json_number(record.warned_ess)},
                        {"without", json_number(record.without)},
                        {"logs", record.logs}};
  if (!record.message.empty()) out["message"] = record.message;
  return out;
}

nlohmann::json to_json(const StudyDesign& design) {
  return {{"name", design.name},
          {"description", design.description},
          {"value", design.value},
          {"logged_mean", design.logged_mean},
          {"right_propensities", design.right_propensities}};
}

}  // namespace scrm
