#include "report/page/report_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "report/charts/svg.hpp"
#include "report/terminal.hpp"

namespace scrm {
namespace {

/// The text with each of these bytes or words replaced.
std::string replaced(std::string_view text, const std::vector<std::pair<std::string_view, std::string_view>>& words) {
  std::string out;
  while (!text.empty()) {
    const auto found = std::find_if(words.begin(), words.end(), [&text](const auto& word) {
      return text.substr(0, word.first.size()) == word.first;
    });
    if (found == words.end()) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      out += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return out;
}

std::string markdown_escaped(std::string_view text) {
  return replaced(printable(text),
                  {{"|", "\\|"}, {"<", "&lt;"}, {"&", "&amp;"}, {"*", "\\*"}, {"_", "\\_"}, {"`", "\\`"}, {"\n", " "}});
}

std::string latex_escaped(std::string_view text) {
  return replaced(printable(text), {{"\\", "\\textbackslash{}"},
                                    {"{", "\\{"},
                                    {"}", "\\}"},
                                    {"&", "\\&"},
                                    {"%", "\\%"},
                                    {"$", "\\$"},
                                    {"#", "\\#"},
                                    {"_", "\\_"},
                                    {"~", "\\textasciitilde{}"},
                                    {"^", "\\textasciicircum{}"},
                                    {"<", "$<$"},
                                    {">", "$>$"},
                                    {"±", "$\\pm$"},
                                    {"−", "$-$"},
                                    {"λ", "$\\lambda$"},
                                    {"θ", "$\\theta$"},
                                    {"σ", "$\\sigma$"},
                                    {"δ", "$\\delta$"},
                                    {"·", "$\\cdot$"},
                                    {"×", "$\\times$"},
                                    {"≤", "$\\le$"},
                                    {"—", "--"},
                                    {"\n", " "}});
}

std::string csv_escaped(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return "\"" + replaced(text, {{"\"", "\"\""}}) + "\"";
}

}  // namespace

void ReportTable::add(std::vector<std::string> cells) {
  std::vector<ReportCell> row(columns.size());
  for (std::size_t j = 0; j < std::min(row.size(), cells.size()); ++j) row[j].text = std::move(cells[j]);
  rows.push_back(std::move(row));
}

std::string terminal_text(const ReportTable& table) {
  std::vector<std::string> header;
  std::vector<Table::Align> align;
  for (const ReportColumn& column : table.columns) {
    header.push_back(printable(column.title));
    align.push_back(column.number ? Table::Align::right : Table::Align::left);
  }
  Table text(header, align);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const ReportCell& cell : row) cells.push_back(styled(cell.text, cell.strong ? Style::strong : Style::plain));
    text.add(std::move(cells));
  }
  return text.text();
}

std::string markdown_text(const ReportTable& table) {
  std::string text, rule;
  for (const ReportColumn& column : table.columns) {
    text += "| " + markdown_escaped(column.title) + " ";
    rule += column.number ? "|---:" : "|---";
  }
  text += "|\n" + rule + "|\n";
  for (const auto& row : table.rows) {
    for (const ReportCell& cell : row) {
      const std::string shown = markdown_escaped(cell.text);
      text += fmt::format("| {} ", cell.strong ? "**" + shown + "**" : shown);
    }
    text += "|\n";
  }
  text += "\n" + markdown_escaped(table.caption) + "\n";
  for (const std::string& note : table.notes) text += "\n" + markdown_escaped(note) + "\n";
  return text;
}

std::string latex_text(const ReportTable& table) {
  std::string alignment, header, body;
  for (const ReportColumn& column : table.columns) {
    alignment += column.number ? 'r' : 'l';
    header += (header.empty() ? "" : " & ") + latex_escaped(column.title);
  }
  for (const auto& row : table.rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::string shown = latex_escaped(row[j].text);
      body += (j == 0 ? "  " : " & ") + (row[j].strong ? "\\textbf{" + shown + "}" : shown);
    }
    body += " \\\\\n";
  }
  return fmt::format(
      "% {}\n\\begin{{tabular}}{{{}}}\n  \\toprule\n  {} \\\\\n  \\midrule\n{}  \\bottomrule\n\\end{{tabular}}\n",
      latex_escaped(table.caption), alignment, header, body);
}

std::string csv_text(const ReportTable& table) {
  std::string text;
  const auto add_line = [&text](const std::vector<std::string>& fields) {
    for (std::size_t j = 0; j < fields.size(); ++j) text += (j == 0 ? "" : ",") + csv_escaped(fields[j]);
    text += "\n";
  };
  if (!table.values.empty()) {
    for (const auto& line : table.values) add_line(line);
    return text;
  }
  std::vector<std::string> fields;
  for (const ReportColumn& column : table.columns) fields.push_back(column.title);
  add_line(fields);
  for (const auto& row : table.rows) {
    fields.clear();
    for (const ReportCell& cell : row) fields.push_back(cell.text);
    add_line(fields);
  }
  return text;
}

std::string html_text(const ReportTable& table) {
  // The caption stands outside of what scrolls.
  std::string text = fmt::format(
      "<p class=\"caption\" id=\"{0}-caption\">{1}</p>\n<div class=\"table\" tabindex=\"0\"><table id=\"{0}\" "
      "aria-labelledby=\"{0}-caption\">\n<thead><tr>",
      escaped(table.name), escaped(table.caption));
  const auto kind = [&table](std::size_t j) { return table.columns[j].number ? " class=\"number\"" : ""; };
  for (std::size_t j = 0; j < table.columns.size(); ++j)
    text += fmt::format("<th scope=\"col\"{}>{}</th>", kind(j), escaped(table.columns[j].title));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t j = 0; j < row.size(); ++j) {
      const char* tag = j == 0 ? "th" : "td";
      const std::string shown = escaped(row[j].text);
      text += fmt::format("<{}{}{}>{}</{}>", tag, j == 0 ? " scope=\"row\"" : "", kind(j),
                          row[j].strong ? "<strong>" + shown + "</strong>" : shown, tag);
    }
    text += "</tr>\n";
  }
  text += "</tbody></table></div>\n";
  for (const std::string& note : table.notes) text += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  return text;
}

std::string rounded(double value, int decimals) {
  if (!std::isfinite(value)) return "—";
  if (std::abs(value) >= 1e6 || decimals > 9) return with_minus_sign(fmt::format("{:.3e}", value));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.front() == '-' && text.find_first_of("123456789") == std::string::npos) text.erase(0, 1);
  return with_minus_sign(std::move(text));
}

std::string mean_and_spread(double mean, double spread) {
  if (!std::isfinite(mean)) return "—";
  // A spread that is rounding alone asks for no digits.
  const double size = spread > std::abs(mean) * 1e-9 ? spread : std::abs(mean) * 1e-2;
  const int least = std::abs(mean) >= 1000 ? 0 : 3;
  const int decimals = size > 0 ? std::clamp(static_cast<int>(1 - std::floor(std::log10(size))), least, 6) : 3;
  if (!std::isfinite(spread)) return rounded(mean, decimals);
  return rounded(mean, decimals) + " ± " + rounded(spread, decimals);
}

}  // namespace scrm
