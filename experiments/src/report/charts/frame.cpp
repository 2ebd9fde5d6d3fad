#include "report/charts/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/charts/chart.hpp"
#include "report/charts/svg.hpp"

namespace scrm {
namespace {

constexpr double kTick = 4;
constexpr double kTickGap = 5;    // between a tick and its text
constexpr double kTickRoom = 64;  // a tick text beside another, with air between them

double widest(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.text));
  return width;
}

}  // namespace

Frame::Frame(const Axis& x, const Range& x_range, const Axis& y, const Range& y_range, const FrameRoom& room)
    : x_axis_(x),
      y_axis_(y),
      x_scale_(x, x_range, std::max(2, static_cast<int>((room.right - room.left) / kTickRoom))),
      y_scale_(y, y_range, std::clamp(static_cast<int>(room.height / 44), 2, 8)),
      left_(room.left + widest(y_scale_.ticks()) + kTick + kTickGap + 1),
      right_(room.right),
      top_(room.top),
      bottom_(room.top + room.height) {}

std::string Frame::foot() const {
  std::string axes, texts;
  double last_end = -1e9;
  for (const Tick& tick : x_scale_.ticks()) {
    const double at = x(tick.value), half = text_width(tick.text) / 2;
    axes += svg_line(at, bottom_, at, bottom_ + kTick);
    // A text at an end of the axis stays within the chart; one that would touch the last is left out.
    const double centre = std::clamp(at, half, kChartWidth - half);
    if (centre - half < last_end + 6) continue;
    texts += svg_text(centre, bottom_ + kTick + 14, Anchor::middle, tick.text);
    last_end = centre + half;
  }
  axes += svg_line(left_, bottom_, right_, bottom_);
  const double half = std::min(text_width(x_axis_.label) / 2, kChartWidth / 2);
  const double centre = std::clamp((left_ + right_) / 2, half, kChartWidth - half);
  return fmt::format("<g class=\"axis\" stroke=\"#59636e\">\n{}</g>\n<g class=\"quiet\" fill=\"#59636e\">\n{}</g>\n{}",
                     axes, texts, svg_text(centre, bottom_ + kTick + 34, Anchor::middle, x_axis_.label));
}

std::string Frame::svg() const {
  std::string grid, texts;
  for (const Tick& tick : y_scale_.ticks()) {
    grid += svg_line(left_, y(tick.value), right_, y(tick.value));
    texts += svg_text(left_ - kTick - kTickGap, y(tick.value) + 4.5, Anchor::end, tick.text);
  }
  return fmt::format(
      "<g class=\"rule\" stroke=\"#d8dee4\">\n{}</g>\n<g class=\"quiet\" fill=\"#59636e\">\n{}</g>\n{}{}", grid, texts,
      foot(), svg_text(2, top_ - 11, Anchor::start, y_axis_.label));
}

std::string Frame::horizontal_svg() const {
  std::string grid;
  for (const Tick& tick : x_scale_.ticks()) grid += svg_line(x(tick.value), top_, x(tick.value), bottom_);
  return fmt::format("<g class=\"rule\" stroke=\"#d8dee4\">\n{}</g>\n{}", grid, foot());
}

std::string Frame::clipped(const std::string& elements) const {
  // An inner picture cuts what lies beyond its borders; it needs no name, which two charts of a page might share.
  const double width = right_ - left_, height = bottom_ - top_;
  return fmt::format("<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">\n{4}</svg>\n",
                     svg_number(left_), svg_number(top_), svg_number(width), svg_number(height), elements);
}

}  // namespace scrm
