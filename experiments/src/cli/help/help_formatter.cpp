#include "cli/help/help_formatter.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace scrm {
namespace {

constexpr std::size_t kHelpColumns = 100;

/// Where the text of a line begins: after the first gap of two spaces or more behind a word, else after its indent.
std::size_t text_column(const std::string& line) {
  const std::size_t word = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", word);
  const std::size_t text = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return text == std::string::npos ? word : text;
}

}  // namespace

std::string wrap_columns(const std::string& text, std::size_t columns) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = text_column(line);
    while (line.size() > columns) {
      const std::size_t space = line.rfind(' ', columns);
      if (space == std::string::npos || space <= indent) break;  // a word that is too long stays whole
      out += line.substr(0, space) + "\n";
      line = std::string(indent, ' ') + line.substr(space + 1);
    }
    out += line + "\n";
  }
  return out;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  return wrap_columns(CLI::Formatter::make_help(app, std::move(name), mode), kHelpColumns);
}

}  // namespace scrm
