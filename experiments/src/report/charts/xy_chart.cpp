#include "report/charts/xy_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts/frame.hpp"
#include "report/charts/labels.hpp"
#include "report/charts/svg.hpp"

namespace scrm {
namespace {

constexpr double kPlotHeight = 230;
constexpr double kBarGap = 7;  // between error bars of neighbouring series

class XyDrawing {
 public:
  explicit XyDrawing(const XyChart& chart)
      : chart_(chart),
        labels_(names(chart)),
        frame_(chart.x, x_range(chart), chart.y, y_range(chart),
               {.left = 0, .right = kChartWidth - labels_.right_room(), .top = Frame::kAbove, .height = kPlotHeight}) {}

  Chart draw() const {
    std::string bands, lines, marks;
    std::vector<double> ends;
    for (std::size_t s = 0; s < chart_.series.size(); ++s) {
      const Series& series = chart_.series[s];
      const std::string open = fmt::format("<g {}>\n", series_attributes(s));
      if (series.form == SeriesForm::points) {
        marks += open + bars(s) + "</g>\n";
      } else {
        if (!series.low.empty()) bands += open + band(series) + "</g>\n";
        lines += open + path(series) + (series.form == SeriesForm::curve ? dots(series, s) : "") + "</g>\n";
      }
      ends.push_back(end_of(series));
    }
    for (std::size_t l = 0; l < chart_.levels.size(); ++l) {
      const double at = frame_.y(chart_.levels[l].y);
      if (std::isfinite(at))
        lines += fmt::format("<g {}>\n{}</g>\n", series_attributes(chart_.series.size() + l),
                             svg_line(frame_.left(), at, frame_.right(), at,
                                      "stroke-width=\"1.5\" stroke-dasharray=\"5 4\" stroke-opacity=\".85\""));
      ends.push_back(at);
    }
    Chart out;
    out.title = chart_.title;
    out.body = frame_.svg() + frame_.clipped(bands + lines + marks);
    out.body += labels_.svg(ends, frame_.right(), frame_.top(), frame_.bottom() + Frame::kBelow);
    out.height = frame_.bottom() + Frame::kBelow + labels_.height_below();
    return out;
  }

 private:
  static std::vector<std::string> names(const XyChart& chart) {
    std::vector<std::string> names;
    for (const Series& series : chart.series) names.push_back(series.name);
    for (const Level& level : chart.levels) names.push_back(level.name);
    return names;
  }

  static Range x_range(const XyChart& chart) {
    Range range(chart.x.kind);
    for (const Series& series : chart.series)
      for (const double value : series.x) range.add(value);
    return range;
  }

  static Range y_range(const XyChart& chart) {
    Range range(chart.y.kind);
    for (const Series& series : chart.series) {
      for (const auto* values : {&series.y, &series.low, &series.high})
        for (const double value : *values) range.add(value);
    }
    for (const Level& level : chart.levels) range.add(level.y);
    return range;
  }

  bool shown(const Series& series, std::size_t i) const {
    return std::isfinite(frame_.x(series.x[i])) && std::isfinite(frame_.y(series.y[i]));
  }

  std::string point(double x, double y) const { return svg_number(frame_.x(x)) + " " + svg_number(frame_.y(y)); }

  std::string path(const Series& series) const {
    std::string d;
    bool pen_down = false;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (shown(series, i)) d += (pen_down ? "L" : "M") + point(series.x[i], series.y[i]) + " ";
      pen_down = shown(series, i);
    }
    if (d.empty()) return d;
    d.pop_back();
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n", d);
  }

  std::string dots(const Series& series, std::size_t number) const {
    std::string out = "<g stroke=\"none\">\n";
    for (std::size_t i = 0; i < series.x.size(); ++i)
      if (shown(series, i)) out += series_mark(frame_.x(series.x[i]), frame_.y(series.y[i]), number);
    return out + "</g>\n";
  }

  /// One shape for each stretch of points that have both ends.
  std::string band(const Series& series) const {
    const auto has_band = [&](std::size_t i) {
      return shown(series, i) && std::isfinite(frame_.y(series.low[i])) && std::isfinite(frame_.y(series.high[i]));
    };
    std::string d;
    for (std::size_t i = 0; i < series.x.size();) {
      std::size_t end = i;
      while (end < series.x.size() && has_band(end)) ++end;
      for (std::size_t k = i; k < end; ++k) d += (k == i ? "M" : "L") + point(series.x[k], series.high[k]) + " ";
      for (std::size_t k = end; k > i; --k) d += "L" + point(series.x[k - 1], series.low[k - 1]) + " ";
      if (end > i) d += "Z ";
      i = std::max(end, i + 1);
    }
    if (d.empty()) return d;
    d.pop_back();
    return fmt::format("<path d=\"{}\" stroke=\"none\" fill-opacity=\".16\"/>\n", d);
  }

  std::string bars(std::size_t number) const {
    const Series& series = chart_.series[number];
    double before = 0, all = 0;
    for (std::size_t s = 0; s < chart_.series.size(); ++s) {
      if (chart_.series[s].form != SeriesForm::points) continue;
      before += s < number ? 1 : 0;
      ++all;
    }
    // Marks without bars hide little of each other, and stay where they are.
    const double shift = series.low.empty() ? 0 : (before - (all - 1) / 2) * kBarGap;
    std::string out;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!shown(series, i)) continue;
      const double x = frame_.x(series.x[i]) + shift;
      if (!series.low.empty() && std::isfinite(series.high[i])) {
        // A bar that ends below zero goes on to the foot of a logarithmic axis.
        const double low = frame_.y(series.low[i]);
        out += svg_line(x, std::isfinite(low) ? low : frame_.bottom(), x, frame_.y(series.high[i]),
                        "stroke-width=\"1.6\"");
      }
      out += fmt::format("<g stroke=\"none\">{}</g>\n", series_mark(x, frame_.y(series.y[i]), number));
    }
    return out;
  }

  /// The height at which a series ends on the right.
  double end_of(const Series& series) const {
    for (std::size_t i = series.x.size(); i > 0; --i)
      if (shown(series, i - 1)) return std::clamp(frame_.y(series.y[i - 1]), frame_.top(), frame_.bottom());
    return std::nan("");
  }

  const XyChart& chart_;
  SeriesLabels labels_;
  Frame frame_;
};

}  // namespace

Chart draw(const XyChart& chart) {
  return XyDrawing(chart).draw();
}

}  // namespace scrm
