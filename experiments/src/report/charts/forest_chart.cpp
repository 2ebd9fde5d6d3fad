#include "report/charts/forest_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts/frame.hpp"
#include "report/charts/svg.hpp"

namespace scrm {
namespace {

constexpr double kRowHeight = 20, kHeadHeight = 24;
// Names give way to numbers, which say nothing when they are cut.
constexpr double kMostName = 120, kMostText = 300;
constexpr double kBoldWidth = 1.16;  // of a bold letter beside a plain one
// Of all intervals, the axis holds these quantiles; those beyond are cut where they are much wider.
constexpr double kTail = 0.1;
constexpr double kMuchWider = 3;

/// The ends that the axis has to show.
Range shown_range(const ForestChart& chart) {
  std::vector<double> lows, highs;
  Range all(ScaleKind::linear), inner(ScaleKind::linear);
  for (const ForestRow& row : chart.rows) {
    for (const auto& end : {row.low, row.value, row.high})
      if (end) all.add(*end);
    const std::optional<double> low = row.low ? row.low : row.value, high = row.high ? row.high : row.value;
    if (low && std::isfinite(*low)) lows.push_back(*low);
    if (high && std::isfinite(*high)) highs.push_back(*high);
  }
  if (chart.reference) all.add(chart.reference->value);
  if (lows.size() < 3 || highs.size() < 3) return all;
  std::sort(lows.begin(), lows.end());
  std::sort(highs.begin(), highs.end());
  const auto at = [](const std::vector<double>& sorted, double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
  };
  inner.add(at(lows, lows.size() < 8 ? 0.34 : kTail));
  inner.add(at(highs, highs.size() < 8 ? 0.66 : 1 - kTail));
  if (chart.reference) inner.add(chart.reference->value);
  const double width = inner.high() - inner.low();
  if (!(width > 0)) return all;
  const double middle = (inner.low() + inner.high()) / 2;
  inner.add(std::max(all.low(), middle - kMuchWider * width));
  inner.add(std::min(all.high(), middle + kMuchWider * width));
  return inner;
}

std::string arrow(double x, double y, double direction) {
  return fmt::format("<path d=\"M{} {} l{} -4 l0 8 Z\" stroke=\"none\"/>\n", svg_number(x), svg_number(y),
                     svg_number(-7 * direction));
}

std::string interval(const ForestRow& row, const Frame& frame, double y, std::size_t colour) {
  const auto x = [&frame](double value) { return std::clamp(frame.x(value), frame.left(), frame.right()); };
  const auto cut = [&frame](double value) {
    return frame.x(value) < frame.left() - 0.5 || frame.x(value) > frame.right() + 0.5;
  };
  std::string out;
  if (row.low || row.high) {
    const double low = row.low && std::isfinite(*row.low) ? x(*row.low) : frame.left();
    const double high = row.high && std::isfinite(*row.high) ? x(*row.high) : frame.right();
    out += svg_line(low, y, high, y, "stroke-width=\"2\"");
    if (!row.low || cut(*row.low)) out += arrow(low, y, -1);
    if (!row.high || cut(*row.high)) out += arrow(high, y, 1);
  }
  if (row.value && std::isfinite(*row.value) && !cut(*row.value))
    out += fmt::format("<g stroke=\"none\">{}</g>", series_mark(x(*row.value), y, colour));
  return fmt::format("<g {}>\n{}</g>\n", series_attributes(colour), out);
}

}  // namespace

Chart draw(const ForestChart& chart) {
  double name_width = 0, text_room = 0, body = 0;
  std::string group;
  for (const ForestRow& row : chart.rows) {
    name_width = std::max(name_width, std::min(kMostName, text_width(row.name)));
    text_room = std::max(text_room, std::min(kMostText, text_width(row.text)));
    body += kRowHeight + (row.group != group ? kHeadHeight : 0);
    group = row.group;
  }
  const double top = Frame::kAbove + (chart.reference ? 4 : -16);
  const Frame frame({.label = chart.label}, shown_range(chart), {}, Range(ScaleKind::linear),
                    {.left = name_width - 16, .right = kChartWidth - text_room - 12, .top = top, .height = body + 6});
  // Rows have no scale of their own: of the frame, only the horizontal axis is drawn.
  std::string out = frame.horizontal_svg();
  if (chart.reference) {
    const double x = frame.x(chart.reference->value);
    const double half = text_width(chart.reference->name) / 2;
    out += fmt::format("<g class=\"axis\" stroke=\"#59636e\">{}</g>\n",
                       svg_line(x, top, x, frame.bottom(), "stroke-dasharray=\"4 3\""));
    out += svg_text(std::clamp(x, half, kChartWidth - half), top - 8, Anchor::middle, chart.reference->name,
                    "class=\"quiet\" fill=\"#59636e\"");
  }
  double y = top + 3;
  std::size_t colour = 0;
  group.clear();
  for (const ForestRow& row : chart.rows) {
    if (row.group != group) {
      y += kHeadHeight;
      out +=
          svg_text(0, y - 6, Anchor::start, shortened(row.group, kChartWidth / kBoldWidth),
                   "font-weight=\"600\" class=\"halo\" stroke=\"#ffffff\" stroke-width=\"4\" paint-order=\"stroke\"");
      group = row.group;
      colour = 0;
    }
    const double middle = y + kRowHeight / 2;
    out += svg_text(2, middle + 4.5, Anchor::start, shortened(row.name, name_width));
    out += interval(row, frame, middle, colour++ % kChartColours);
    out += svg_text(kChartWidth - 1, middle + 4.5, Anchor::end, shortened(row.text, kMostText),
                    "class=\"quiet\" fill=\"#59636e\"");
    y += kRowHeight;
  }
  return {chart.title, frame.bottom() + Frame::kBelow, std::move(out)};
}

}  // namespace scrm
