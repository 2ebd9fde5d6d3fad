/// ReportTable: a table of a report, as text for terminals, Markdown, LaTeX, CSV and HTML.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace scrm {

struct ReportColumn {
  std::string title;
  bool number = false;  ///< set to the right
};

struct ReportCell {
  std::string text;
  bool strong = false;
};

struct ReportTable {
  std::string name;     ///< of its files
  std::string caption;  ///< one sentence
  std::vector<ReportColumn> columns;
  std::vector<std::vector<ReportCell>> rows;
  std::vector<std::string> notes = {};  ///< below the table
  /// For CSV: all numbers in full, where the table itself shows rounded ones. Header first; empty: the table's own.
  std::vector<std::vector<std::string>> values = {};

  void add(std::vector<std::string> cells);
};

std::string terminal_text(const ReportTable& table);
std::string markdown_text(const ReportTable& table);
/// A tabular with rules of the booktabs package.
std::string latex_text(const ReportTable& table);
std::string csv_text(const ReportTable& table);
std::string html_text(const ReportTable& table);

/// "−5.608 ± 0.017" with as many decimals as the spread asks for, three at least; the mean alone where there is none.
std::string mean_and_spread(double mean, double spread);
/// The same decimals for a number of its own.
std::string rounded(double value, int decimals);

}  // namespace scrm
