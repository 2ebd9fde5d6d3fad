/// Help that fits a terminal: lines end within 100 columns and go on below the text they belong to.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace scrm {

/// Breaks lines between words. What follows is indented as the second column of the line where it has one ("--json
/// Machine-readable ..."), else as the line itself.
std::string wrap_columns(const std::string& text, std::size_t columns);

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace scrm
