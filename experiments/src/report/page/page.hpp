/// Page: a report as one HTML file that needs nothing else: no network, no scripts, pictures and data inside.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "report/charts/chart.hpp"
#include "report/page/report_table.hpp"

namespace scrm {

struct PageText {
  std::string text;
};

/// Lines of a file, as they are.
struct PageCode {
  std::string text;
};

/// Things to be seen before anything else.
struct PageWarnings {
  std::vector<std::string> texts;
};

struct PageFigure {
  std::string name;  ///< of its file
  Chart chart;
  std::string caption = {};  ///< what it shows
};

using PageBlock = std::variant<PageText, PageCode, PageWarnings, ReportTable, PageFigure>;

struct PageSection {
  std::string title;
  std::vector<PageBlock> blocks;
};

struct Page {
  std::string title;
  std::string lead;  ///< two or three sentences under the title
  std::vector<PageSection> sections;
  nlohmann::ordered_json data;  ///< everything that is shown, in full precision
};

std::string html_text(const Page& page);

/// A name for files and anchors: letters, digits and dashes of the text.
std::string slug(const std::string& text);

}  // namespace scrm
