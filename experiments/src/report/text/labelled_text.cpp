#include "report/text/labelled_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/terminal.hpp"

namespace scrm {
namespace {

constexpr std::size_t kShownLabels = 24;

nlohmann::ordered_json ratio(std::int64_t part, double whole) {
  if (whole == 0) return nullptr;
  return static_cast<double>(part) / whole;
}

double cells(const LabelledData& data) {
  return static_cast<double>(data.rows) * static_cast<double>(data.features);
}

std::string label_name(const LabelledData& data, std::size_t k) {
  return data.label_names.empty() ? std::to_string(k) : printable(data.label_names[k]);
}

/// Labels from which nothing can be learned, in one sentence.
std::string constant_labels_text(const LabelledData& data, const LabelledSummary& summary) {
  std::vector<std::string> never;
  std::vector<std::string> always;
  for (std::size_t k = 0; k < summary.label_counts.size(); ++k) {
    if (summary.label_counts[k] == 0) never.push_back(label_name(data, k));
    if (summary.label_counts[k] == data.rows) always.push_back(label_name(data, k));
  }
  std::string text;
  const auto note = [&](std::vector<std::string> names, const char* how) {
    if (names.empty()) return;
    const std::size_t count = names.size();
    names.resize(std::min(count, kShownLabels));
    text += fmt::format("  {} {} in every row: {}{}\n", styled("note:", Style::warning), how, fmt::join(names, ", "),
                        names.size() < count ? ", ..." : "");
  };
  if (data.multiclass) {
    if (!never.empty()) {
      const std::size_t count = never.size();
      never.resize(std::min(count, kShownLabels));
      text += fmt::format("  {} no row has class {}{}\n", styled("note:", Style::warning), fmt::join(never, ", "),
                          never.size() < count ? ", ..." : "");
    }
    return text;
  }
  note(never, "labels that are 0");
  note(always, "labels that are 1");
  return text;
}

}  // namespace

LabelledSummary summarize(const LabelledData& data) {
  LabelledSummary summary;
  const auto& numbers = data.sparse ? data.values : data.context;
  summary.entries = std::count_if(numbers.begin(), numbers.end(), [](double value) { return value != 0; });
  const auto labels = static_cast<std::size_t>(data.labels);
  summary.label_counts.assign(labels, 0);
  for (const std::int32_t category : data.category) ++summary.label_counts[static_cast<std::size_t>(category)];
  for (std::size_t row = 0; !data.multiclass && row < static_cast<std::size_t>(data.rows); ++row) {
    for (std::size_t k = 0; k < labels; ++k) summary.label_counts[k] += data.label[row * labels + k];
  }
  for (const std::int64_t count : summary.label_counts) summary.labels_set += count;
  return summary;
}

std::string context_text(const LabelledData& data, const LabelledSummary& summary) {
  if (data.features == 0) return "no features";
  std::string text = fmt::format("{} feature{}, {}", with_commas(data.features), data.features == 1 ? "" : "s",
                                 data.sparse ? "sparse" : "dense");
  if (data.rows > 0) text += fmt::format(", {} not zero", percent(static_cast<double>(summary.entries) / cells(data)));
  return text;
}

std::string answers_text(const LabelledData& data) {
  const char* plural = data.multiclass ? "es" : "s";
  return fmt::format("{} {}{}", with_commas(data.labels), data.multiclass ? "class" : "label",
                     data.labels == 1 ? "" : plural);
}

std::string labels_text(const LabelledData& data, const LabelledSummary& summary) {
  if (data.rows == 0) return "";
  const auto rows = static_cast<double>(data.rows);
  std::string text = data.multiclass ? "\n"
                                     : fmt::format("  {} labels a row on average\n\n",
                                                   human_number(static_cast<double>(summary.labels_set) / rows));
  Table table({data.multiclass ? "class" : "label", data.multiclass ? "rows" : "rows set", "share"},
              {Table::Align::left, Table::Align::right, Table::Align::right});
  const std::size_t shown = std::min(kShownLabels, summary.label_counts.size());
  for (std::size_t k = 0; k < shown; ++k) {
    const std::int64_t count = summary.label_counts[k];
    table.add({label_name(data, k), with_commas(count), percent(static_cast<double>(count) / rows)});
  }
  text += table.text(2);
  if (shown < summary.label_counts.size())
    text +=
        styled(fmt::format("  and {} more; --json has them all\n", summary.label_counts.size() - shown), Style::dim);
  return text + constant_labels_text(data, summary);
}

nlohmann::ordered_json labelled_json(const LabelledData& data, const LabelledSummary& summary) {
  const auto rows = static_cast<double>(data.rows);
  nlohmann::ordered_json json = {{"format", "scrm-labelled"}, {"name", data.name},     {"rows", data.rows},
                                 {"features", data.features}, {"labels", data.labels}, {"sparse", data.sparse},
                                 {"entries", summary.entries}};
  if (data.multiclass) json["multiclass"] = true;
  json["density"] = ratio(summary.entries, cells(data));
  json["labels_per_row"] = ratio(summary.labels_set, rows);
  json["label_density"] = ratio(summary.labels_set, rows * data.labels);
  json["label_names"] = nullptr;
  if (!data.label_names.empty()) json["label_names"] = data.label_names;
  json["label_counts"] = summary.label_counts;
  json["label_frequencies"] = nlohmann::ordered_json::array();
  for (const std::int64_t count : summary.label_counts) json["label_frequencies"].push_back(ratio(count, rows));
  return json;
}

}  // namespace scrm
