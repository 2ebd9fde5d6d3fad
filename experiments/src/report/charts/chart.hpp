/// Chart: a picture as SVG text. The same data gives the same bytes; no clock, file or random number is involved.
#pragma once

#include <string>
#include <string_view>

namespace scrm {

/// Every chart is this wide, in units of its own: a page makes it as wide as there is room, down to a phone's screen.
inline constexpr double kChartWidth = 480;
inline constexpr double kFontSize = 13;
inline constexpr double kLineHeight = 17;

struct Chart {
  std::string title;  ///< what it shows, in words: for those who cannot see it, and above the picture in a page
  double height = 0;
  std::string body;  ///< SVG elements
};

/// A file of its own: light or dark as its viewer asks for, and light where a viewer knows no style sheets.
std::string svg_file(const Chart& chart);

/// The chart as part of a page, whose style sheet holds chart_style().
std::string svg_inline(const Chart& chart);

/// Colours of all charts, light and dark: a style sheet.
std::string chart_style();

/// Series beyond the last colour begin anew with another dash.
inline constexpr int kChartColours = 6;

}  // namespace scrm
