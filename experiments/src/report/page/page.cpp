#include "report/page/page.hpp"

#include <fmt/format.h>

#include <cctype>

#include "report/charts/svg.hpp"
#include "report/page/page_style.hpp"
#include "report/terminal.hpp"
#include "report/version.hpp"

namespace scrm {
namespace {

/// JSON inside a script element ends where "</script" stands, even in a text: "<" is spelt otherwise there.
std::string embedded(const nlohmann::ordered_json& data) {
  std::string out;
  for (const char c : json_text(data)) out += c == '<' ? "\\u003c" : std::string(1, c);
  return out;
}

struct BlockWriter {
  std::string& out;

  void operator()(const PageText& block) const { out += fmt::format("<p>{}</p>\n", escaped(block.text)); }
  void operator()(const PageCode& block) const { out += fmt::format("<pre>{}</pre>\n", escaped(block.text)); }
  void operator()(const ReportTable& block) const { out += html_text(block); }
  void operator()(const PageWarnings& block) const {
    out += "<ul class=\"warnings\">\n";
    for (const std::string& text : block.texts) out += fmt::format("<li>{}</li>\n", escaped(text));
    out += "</ul>\n";
  }
  void operator()(const PageFigure& block) const {
    out +=
        fmt::format("<figure id=\"{}\">\n<h3>{}</h3>\n{}{}</figure>\n", escaped(block.name), escaped(block.chart.title),
                    svg_inline(block.chart),
                    block.caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>\n", escaped(block.caption)));
  }
};

std::string section_html(const PageSection& section, const std::string& anchor) {
  std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", anchor, escaped(section.title));
  bool in_figures = false;
  for (const PageBlock& block : section.blocks) {
    const bool figure = std::holds_alternative<PageFigure>(block);
    if (figure && !in_figures) out += "<div class=\"figures\">\n";
    if (!figure && in_figures) out += "</div>\n";
    in_figures = figure;
    std::visit(BlockWriter{out}, block);
  }
  if (in_figures) out += "</div>\n";
  return out + "</section>\n";
}

}  // namespace

std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  constexpr std::size_t kMost = 60;
  return out.empty() ? "part" : out.substr(0, kMost);
}

std::string html_text(const Page& page) {
  std::string contents, sections;
  for (std::size_t i = 0; i < page.sections.size(); ++i) {
    const std::string anchor = fmt::format("section-{}", i + 1);
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", anchor, escaped(page.sections[i].title));
    sections += section_html(page.sections[i], anchor);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"scrm {}\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n<p>{}</p>\n</header>\n"
      "<nav aria-label=\"Contents\"><h2>Contents</h2>\n<ol>\n{}</ol>\n</nav>\n<main>\n{}</main>\n"
      "<footer><p>Written by scrm {}. All numbers of this page are inside it as JSON, in the element with the id "
      "“data”.</p></footer>\n<script type=\"application/json\" id=\"data\">{}</script>\n</body>\n</html>\n",
      version(), escaped(page.title), page_style(), chart_style(), escaped(page.title), escaped(page.lead), contents,
      sections, version(), embedded(page.data));
}

}  // namespace scrm
