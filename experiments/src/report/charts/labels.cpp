#include "report/charts/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/charts/chart.hpp"
#include "report/charts/svg.hpp"

namespace scrm {
namespace {

constexpr double kSwatch = 18, kGap = 6;
constexpr double kMostBeside = 150;  // a third of the chart at most
constexpr std::size_t kMostNames = 12;

}  // namespace

SeriesLabels::SeriesLabels(std::vector<std::string> names) : names_(std::move(names)) {
  double widest = 0;
  for (const std::string& name : names_) widest = std::max(widest, text_width(name));
  if (names_.size() <= 1 && widest == 0) return;
  if (names_.size() <= kMostNames && widest + kSwatch <= kMostBeside) {
    right_room_ = widest + kSwatch + kGap;
    return;
  }
  right_room_ = kGap;
  columns_ = std::clamp<std::size_t>(static_cast<std::size_t>(kChartWidth / (widest + kSwatch + 3 * kGap)), 1, 4);
  column_width_ = kChartWidth / static_cast<double>(columns_);
  const std::size_t lines = (names_.size() + columns_ - 1) / columns_;
  height_below_ = kGap + kLineHeight * static_cast<double>(lines);
}

std::string SeriesLabels::svg(const std::vector<double>& ends, double right, double top, double below) const {
  return height_below_ > 0 ? under(below) : beside(ends, right, top);
}

std::string SeriesLabels::beside(const std::vector<double>& ends, double right, double top) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < ends.size(); ++i)
    if (std::isfinite(ends[i]) && !names_[i].empty()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ends[a] < ends[b]; });
  // From above each goes as high as those before it allow; what hangs out at the foot is then pushed up again.
  std::vector<double> at;
  for (const std::size_t i : order) at.push_back(std::max(ends[i], at.empty() ? top + 4 : at.back() + kLineHeight - 2));
  // A crowd is centred on where its lines end, as far as its neighbours allow.
  for (std::size_t first = 0; first < at.size();) {
    std::size_t last = first + 1;
    while (last < at.size() && at[last] - at[last - 1] <= kLineHeight - 2 + 1e-9) ++last;
    double moved = 0;
    for (std::size_t k = first; k < last; ++k) moved += at[k] - ends[order[k]];
    const double floor = first == 0 ? top + 4 : at[first - 1] + kLineHeight - 2;
    const double up = std::min(moved / static_cast<double>(last - first), at[first] - floor);
    if (up > 0)
      for (std::size_t k = first; k < last; ++k) at[k] -= up;
    first = last;
  }
  std::string out;
  for (std::size_t k = 0; k < order.size(); ++k) {
    out += fmt::format("<g {}>\n{}</g>\n", series_attributes(order[k]),
                       svg_line(right + 2, ends[order[k]], right + kSwatch - 3, at[k], "stroke-width=\"1.5\""));
    out += svg_text(right + kSwatch, at[k] + 4.5, Anchor::start, names_[order[k]]);
  }
  return out;
}

std::string SeriesLabels::under(double below) const {
  std::string out;
  const std::size_t lines = (names_.size() + columns_ - 1) / columns_;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const double x = static_cast<double>(i / lines) * column_width_;
    const double y = below + kGap + kLineHeight * (static_cast<double>(i % lines) + 0.6);
    out += fmt::format("<g {}>\n{}<g stroke=\"none\">{}</g></g>\n", series_attributes(i),
                       svg_line(x, y - 4.5, x + kSwatch, y - 4.5, "stroke-width=\"2\""),
                       series_mark(x + kSwatch / 2, y - 4.5, i));
    out += svg_text(x + kSwatch + kGap, y, Anchor::start, shortened(names_[i], column_width_ - kSwatch - 2 * kGap));
  }
  return out;
}

}  // namespace scrm
