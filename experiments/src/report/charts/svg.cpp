#include "report/charts/svg.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "report/charts/chart.hpp"
#include "report/terminal.hpp"

namespace scrm {
namespace {

/// Where the code points of a UTF-8 text begin, and its end.
std::vector<std::size_t> code_points(std::string_view text) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) begins.push_back(i);
  }
  begins.push_back(text.size());
  return begins;
}

// Of kFontSize. DejaVu Sans, the widest of the common ones, has 0.64 for most letters and 1 at most.
constexpr double kMeanWidth = 0.64, kWideWidth = 1.0, kNarrowWidth = 0.42;

double code_point_width(std::string_view point) {
  constexpr std::string_view kNarrow = "iljtfrI.,:;|!'() ", kWide = "mwMWOQ%@&+=<>";
  if (point.size() > 2) return kWideWidth;
  if (point.size() == 1 && kNarrow.find(point.front()) != std::string_view::npos) return kNarrowWidth;
  if (point.size() == 1 && kWide.find(point.front()) != std::string_view::npos) return kWideWidth;
  return kMeanWidth;
}

constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#b0508c", "#b37400", "#3f8fc4"};
static_assert(kColours.size() == kChartColours);

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string with_minus_sign(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; ++at) text.replace(at, 1, "−");
  return text;
}

double text_width(std::string_view text) {
  const std::vector<std::size_t> begins = code_points(text);
  double width = 0;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i)
    width += code_point_width(text.substr(begins[i], begins[i + 1] - begins[i]));
  return width * kFontSize;
}

std::string shortened(std::string_view text, double width) {
  if (text_width(text) <= width) return std::string(text);
  const std::vector<std::size_t> begins = code_points(text);
  const std::size_t points = begins.size() - 1;
  std::string shown = "…";
  for (std::size_t kept = 1; kept < points; ++kept) {
    const std::size_t head = (kept + 1) / 2, tail = kept / 2;
    std::string longer =
        std::string(text.substr(0, begins[head])) + "…" + std::string(text.substr(begins[points - tail]));
    if (text_width(longer) > width) break;
    shown = std::move(longer);
  }
  return shown;
}

std::string svg_text(double x, double y, Anchor anchor, std::string_view text, std::string_view attributes) {
  constexpr std::array kAnchors = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}{}>{}</text>\n", svg_number(x), svg_number(y),
                     kAnchors[static_cast<std::size_t>(anchor)], attributes.empty() ? "" : " ", attributes,
                     escaped(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}{}/>\n", svg_number(x1), svg_number(y1),
                     svg_number(x2), svg_number(y2), attributes.empty() ? "" : " ", attributes);
}

std::string series_attributes(std::size_t number) {
  constexpr std::array kDashes = {"", "7 3", "2 3", "9 3 2 3"};
  const std::size_t colour = number % kColours.size();
  const char* dash = kDashes[number / kColours.size() % kDashes.size()];
  return fmt::format("class=\"s{}\" stroke=\"{}\" fill=\"{}\"{}", colour, kColours[colour], kColours[colour],
                     *dash == '\0' ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

std::string series_mark(double x, double y, std::size_t number) {
  const auto at = [&](double dx, double dy) { return svg_number(x + dx) + " " + svg_number(y + dy); };
  switch (number % 4) {
    case 0:
      return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3.2\"/>\n", svg_number(x), svg_number(y));
    case 1:
      return fmt::format("<path d=\"M{} L{} L{} L{} Z\"/>\n", at(-2.9, -2.9), at(2.9, -2.9), at(2.9, 2.9),
                         at(-2.9, 2.9));
    case 2:
      return fmt::format("<path d=\"M{} L{} L{} Z\"/>\n", at(0, -4), at(3.6, 2.6), at(-3.6, 2.6));
    default:
      return fmt::format("<path d=\"M{} L{} L{} L{} Z\"/>\n", at(0, -4), at(4, 0), at(0, 4), at(-4, 0));
  }
}

}  // namespace scrm
