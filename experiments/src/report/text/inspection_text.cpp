#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/inspection.hpp"
#include "report/terminal.hpp"

namespace scrm {

namespace {

constexpr std::size_t kShownFeatures = 20;
constexpr std::size_t kShownActions = 20;
constexpr int kBarCells = 32;
constexpr int kMaxBars = 24;

/// A horizontal bar in eighths of a cell; anything above zero shows at least an eighth.
std::string bar(double share_of_longest) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths =
      std::max(share_of_longest > 0 ? 1 : 0, static_cast<int>(std::lround(share_of_longest * kBarCells * 8)));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

std::string line(const char* name, const std::string& value) {
  return fmt::format("  {}{:<{}}{}\n", styled(name, Style::dim), "", 12 - static_cast<int>(std::string(name).size()),
                     value);
}

std::string context_text(const Schema& schema) {
  if (schema.features == 0) return "none";
  return fmt::format("{}, {} {}", counted(schema.features, "feature"), schema.sparse ? "sparse" : "dense",
                     schema.context_type == FloatType::f32 ? "float32" : "float64");
}

std::string action_text(const Schema& schema) {
  switch (schema.action_kind) {
    case ActionKind::continuous:
      return "continuous: one number a row";
    case ActionKind::categorical:
      return fmt::format("categorical: one of {}", with_commas(schema.num_actions));
    case ActionKind::multilabel:
      return fmt::format("multilabel: {}", counted(schema.num_actions, "bit") + " a row");
  }
  return "";
}

std::string propensity_text(const Schema& schema) {
  const char* what = schema.action_kind == ActionKind::continuous ? "density" : "probability";
  switch (schema.propensity) {
    case PropensityForm::linear:
      return fmt::format("{} of the logged action{}", what, schema.label_propensity ? ", and of every bit" : "");
    case PropensityForm::logarithm:
      return fmt::format("{} of the logged action as a logarithm{}", what,
                         schema.label_propensity ? ", and of every bit" : "");
    case PropensityForm::label_product:
      return "probability of every bit; their product is that of the action";
  }
  return "";
}

std::string audit_text(const Inspection& inspection) {
  const std::int64_t bad = inspection.audit.bad_rows();
  if (bad == 0) return styled(inspection.rows == 0 ? "no rows" : "every row is valid", Style::good);
  const double share = static_cast<double>(bad) / static_cast<double>(inspection.rows);
  std::string text = styled(fmt::format("{} ({})", counted(bad, "bad row"), percent(share)), Style::bad);
  for (int r = 0; r < kBadRowReasons; ++r) {
    const std::int64_t count = inspection.audit.counts[static_cast<std::size_t>(r)];
    if (count > 0)
      text += fmt::format("\n{:14}{}: {}", "", with_commas(count), to_string(static_cast<BadRowReason>(r)));
  }
  if (const auto& first = inspection.audit.first) {
    text +=
        fmt::format("\n{:14}first: {}, row {} of {}: {}", "", first->file, first->row, first->dataset, first->value);
  }
  if (inspection.summary.rows > 0) text += fmt::format("\n{:14}what follows leaves them out", "");
  return text;
}

std::string overview_text(const Inspection& inspection) {
  const std::int64_t bytes = inspection.bytes();
  std::string size = human_bytes(static_cast<double>(bytes));
  if (inspection.rows > 0) {
    size += fmt::format(", {} a row", human_bytes(static_cast<double>(bytes) / static_cast<double>(inspection.rows)));
  }
  std::string text =
      fmt::format("{}: {} in {} ({})\n\n", styled(inspection.name, Style::strong), counted(inspection.rows, "row"),
                  counted(static_cast<std::int64_t>(inspection.shards.size()), "shard"), size);
  text += line("context", context_text(inspection.schema));
  text += line("action", action_text(inspection.schema));
  text += line("propensity", propensity_text(inspection.schema));
  if (inspection.schema.cluster) text += line("cluster", "rows of one number are not independent of each other");
  std::map<int, std::int64_t> rollouts;
  for (const Shard& shard : inspection.shards) rollouts[shard.rollout] += shard.rows;
  if (rollouts.size() > 1 || (rollouts.size() == 1 && rollouts.begin()->first != 0)) {
    std::string list;
    for (const auto& [number, rows] : rollouts) {
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", number, counted(rows, "row"));
    }
    text += line("rollouts", list);
  }
  return text + line("audit", audit_text(inspection));
}

void add_range(Table& table, const std::string& name, const Moments& values) {
  if (values.count == 0) return;
  const double sd = sample_sd(values);
  table.add({name, human_number(values.lowest), std::isfinite(values.mean) ? human_number(values.mean) : "overflow",
             human_number(values.highest), values.count < 2 || std::isfinite(sd) ? human_number(sd) : "overflow"});
}

std::string ranges_text(const Inspection& inspection) {
  const Summary& summary = inspection.summary;
  using Align = Table::Align;
  Table table({"", "min", "mean", "max", "sd"}, {Align::left, Align::right, Align::right, Align::right, Align::right});
  add_range(table, to_string(inspection.schema.outcome.value_or(Outcome::loss)), summary.loss);
  add_range(table, "action", summary.action);
  add_range(table, "propensity", summary.propensity);
  if (inspection.schema.propensity != PropensityForm::linear) {
    add_range(table, "log propensity", summary.log_propensity);
  }
  add_range(table, "entries per row", summary.entries_per_row);
  add_range(table, "entry values", summary.entries);
  const std::size_t shown = std::min(kShownFeatures, summary.features.size());
  for (std::size_t j = 0; j < shown; ++j)
    add_range(table, printable(feature_name(inspection.schema, j)), summary.features[j]);
  std::string text = "\n" + table.text(2);
  if (shown < summary.features.size()) {
    text += styled(fmt::format("  and {} more features; --json has them all\n",
                               with_commas(static_cast<std::int64_t>(summary.features.size() - shown))),
                   Style::dim);
  }
  return text;
}

std::string actions_text(const Inspection& inspection) {
  const Summary& summary = inspection.summary;
  if (summary.action_counts.empty()) return "";
  const bool labels = inspection.schema.action_kind == ActionKind::multilabel;
  const auto longest = static_cast<double>(
      std::max<std::int64_t>(1, *std::max_element(summary.action_counts.begin(), summary.action_counts.end())));
  using Align = Table::Align;
  Table table({labels ? "label" : "action", labels ? "rows set" : "rows", "share", ""},
              {Align::right, Align::right, Align::right, Align::left});
  const std::size_t shown = std::min(kShownActions, summary.action_counts.size());
  for (std::size_t k = 0; k < shown; ++k) {
    const auto count = static_cast<double>(summary.action_counts[k]);
    table.add({printable(action_name(inspection.schema, k)), with_commas(summary.action_counts[k]),
               percent(count / static_cast<double>(summary.rows)), bar(count / longest)});
  }
  std::string text = "\n" + table.text(2);
  if (shown < summary.action_counts.size()) {
    text +=
        styled(fmt::format("  and {} more; --json has them all\n", summary.action_counts.size() - shown), Style::dim);
  }
  return text;
}

std::string targets_text(const Inspection& inspection) {
  if (inspection.schema.targets.empty()) return "";
  using Align = Table::Align;
  Table table({"target", "mean weight", "off by (se)", "max weight"},
              {Align::left, Align::right, Align::right, Align::right});
  for (std::size_t t = 0; t < inspection.schema.targets.size(); ++t) {
    const Moments& weights = inspection.summary.target_weights[t];
    table.add({printable(inspection.schema.targets[t]), human_number(weights.mean),
               is_constant(weights) ? "-" : human_number(z_score(weights, 1.0)), human_number(weights.highest)});
  }
  return "\n" + table.text(2);
}

/// Bins are joined until the picture fits: by decades, then by several decades.
int bins_a_bar(int first, int last) {
  for (const int size : {1, 3, 6, 15}) {
    if ((last - first) / size + 1 <= kMaxBars) return size;
  }
  return 30;
}

std::string histogram_text(const Inspection& inspection) {
  const PropensityHistogram& histogram = inspection.summary.histogram;
  int first = 0;
  int last = PropensityHistogram::kBins - 1;
  while (first < last && histogram.counts[static_cast<std::size_t>(first)] == 0) ++first;
  while (last > first && histogram.counts[static_cast<std::size_t>(last)] == 0) --last;
  const int size = bins_a_bar(first, last);
  // Bin 0 is all that is too small, and bin 1 begins a decade: joined bins must begin there too.
  if (first > 0) first -= (first - 1) % size;

  struct Bar {
    std::string low, high;
    std::int64_t rows = 0;
  };
  std::vector<Bar> bars;
  for (int begin = first; begin <= last;) {
    const int end = begin == 0 ? 1 : std::min(begin + size, PropensityHistogram::kBins);
    Bar next{fmt::format("{:g}", PropensityHistogram::lower_edge(begin)), "more"};
    if (end < PropensityHistogram::kBins) next.high = fmt::format("{:g}", PropensityHistogram::lower_edge(end));
    for (int b = begin; b < end; ++b) next.rows += histogram.counts[static_cast<std::size_t>(b)];
    bars.push_back(std::move(next));
    begin = end;
  }
  std::int64_t longest = 1;
  for (const Bar& one : bars) longest = std::max(longest, one.rows);
  using Align = Table::Align;
  Table table({"propensity", "", "rows", "share", ""},
              {Align::right, Align::left, Align::right, Align::right, Align::left});
  for (const Bar& one : bars) {
    const auto rows = static_cast<double>(one.rows);
    // Probabilities of one are no range.
    const bool certain = one.low == "1" && inspection.schema.action_kind != ActionKind::continuous;
    table.add({one.low, certain ? "" : "– " + one.high, with_commas(one.rows),
               percent(rows / static_cast<double>(inspection.summary.rows)), bar(rows / static_cast<double>(longest))});
  }
  return "\n" + table.text(2);
}

}  // namespace

std::string inspection_text(const Inspection& inspection) {
  std::string text = overview_text(inspection);
  if (inspection.summary.rows == 0) return text;
  text += ranges_text(inspection) + actions_text(inspection) + targets_text(inspection) + histogram_text(inspection);
  const std::vector<std::string> notes = remarks(inspection);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes)
    text += fmt::format("  {} {}\n", styled("note:", Style::warning), printable(note));
  return text;
}

}  // namespace scrm
