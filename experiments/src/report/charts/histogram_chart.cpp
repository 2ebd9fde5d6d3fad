#include "report/charts/histogram_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts/frame.hpp"
#include "report/charts/svg.hpp"

namespace scrm {
namespace {

constexpr double kBarsHeight = 170;

}  // namespace

Chart draw(const HistogramChart& chart) {
  double all = 0;
  for (const HistogramBin& bin : chart.bins) all += bin.count;
  Range x(chart.x.kind), y(ScaleKind::linear);
  y.add(0);
  for (const HistogramBin& bin : chart.bins) {
    x.add(bin.low);
    x.add(bin.high);
    if (all > 0) y.add(100 * bin.count / all);
  }
  for (const HistogramMark& mark : chart.marks) x.add(mark.value);
  const double marks_height = kLineHeight * static_cast<double>(chart.marks.size());
  const Frame frame(chart.x, x, {.label = fmt::format("share of {}, %", chart.unit), .low = 0}, y,
                    {.left = 0, .right = kChartWidth - 10, .top = Frame::kAbove + marks_height, .height = kBarsHeight});
  std::string bars;
  for (const HistogramBin& bin : chart.bins) {
    if (!(bin.count > 0)) continue;
    const double left = std::isfinite(frame.x(bin.low)) ? frame.x(bin.low) : frame.left();
    const double top = frame.y(100 * bin.count / all);
    bars += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", svg_number(left + 0.5),
                        svg_number(top), svg_number(std::max(frame.x(bin.high) - left - 1, 0.5)),
                        svg_number(std::max(frame.bottom() - top, 0.7)));
  }
  Chart out;
  out.title = chart.title;
  out.body = frame.svg() + fmt::format("<g {} stroke-width=\"0\" fill-opacity=\".75\">\n{}</g>\n", series_attributes(0),
                                       frame.clipped(bars));
  double line = frame.top() - marks_height - 8;
  for (const HistogramMark& mark : chart.marks) {
    line += kLineHeight;
    const double at = frame.x(mark.value);
    if (!std::isfinite(at)) continue;
    out.body +=
        fmt::format("<g {}>{}</g>\n", series_attributes(1),
                    svg_line(at, line + 4, at, frame.bottom(), "stroke-width=\"1.5\" stroke-dasharray=\"4 3\""));
    const double half = text_width(mark.name) / 2;
    out.body += svg_text(std::clamp(at, half, kChartWidth - half), line, Anchor::middle, mark.name);
  }
  out.height = frame.bottom() + Frame::kBelow;
  if (!chart.note.empty()) {
    out.body += svg_text(2, out.height + 10, Anchor::start, chart.note, "class=\"quiet\" fill=\"#59636e\"");
    out.height += kLineHeight;
  }
  return out;
}

}  // namespace scrm
