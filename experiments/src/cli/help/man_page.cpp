#include "cli/help/man_page.hpp"

#include <fmt/format.h>

#include <sstream>

namespace scrm {
namespace {

/// Text that roff shows as it is: backslashes and hyphens are its own, and so is a dot or a quote that begins a line.
std::string roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char letter : text) {
    if (line_start && (letter == '.' || letter == '\'')) out += "\\&";
    line_start = letter == '\n';
    switch (letter) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '\'':
        out += "\\(aq";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string synopsis(const CommandFacts& command) {
  std::string text = fmt::format(".B scrm {}\n", roff(command.name));
  for (const OptionFacts& option : command.options) {
    if (option.positional)
      text += fmt::format(".I {}{}\n", roff(option.value), option.many ? "..." : "");
    else if (option.required)
      text += fmt::format(".B {}\n.I {}\n", roff(option.names.back()), roff(option.value));
  }
  return text + ".RI [ options ]\n";
}

std::string option_entry(const OptionFacts& option) {
  std::string text = ".TP\n";
  if (option.positional) {
    text += fmt::format(".I {}{}\n", roff(option.value), option.many ? "..." : "");
  } else {
    text += ".B";
    for (std::size_t n = 0; n < option.names.size(); ++n)
      text += fmt::format(" {}{}", roff(option.names[n]), n + 1 < option.names.size() ? "," : "");
    if (!option.value.empty()) text += fmt::format(" \\fI{}\\fP", roff(option.value));
    text += "\n";
  }
  text += roff(option.description + (option.required && !option.positional ? " (required)" : "")) + "\n";
  std::string words;
  for (const std::string& word : option.choices) {
    if (option.description.find(word) == std::string::npos) words += (words.empty() ? "" : ", ") + word;
  }
  if (!words.empty()) text += roff("(" + words + ")") + "\n";
  return text;
}

/// Lines as they are.
std::string verbatim(const std::string& text) {
  return ".PP\n.nf\n" + roff(text) + "\n.fi\n";
}

std::string section(const CommandFacts& command) {
  std::string text =
      fmt::format(".SS {}\n{}.PP\n{}.\n", roff(command.name), synopsis(command), roff(command.description));
  std::string group;
  for (const OptionFacts& option : command.options) {
    // CLI11 calls these groups so by default; the others have names of their own.
    const bool named = !option.positional && option.group != "Options";
    if (named && option.group == "Common") continue;
    if (named && option.group != group) text += fmt::format(".PP\n{}:\n", roff(option.group));
    if (named) group = option.group;
    text += option_entry(option);
  }
  return text + (command.footer.empty() ? "" : verbatim(command.footer));
}

/// The options that every command has, from the first that has them.
std::string common_options(const std::vector<CommandFacts>& commands) {
  std::string text;
  for (const CommandFacts& command : commands) {
    for (const OptionFacts& option : command.options) {
      if (option.group == "Common") text += option_entry(option);
    }
    if (!text.empty()) break;
  }
  return text;
}

}  // namespace

std::string man_page(const std::vector<CommandFacts>& commands, const std::string& version) {
  const CommandFacts& program = commands.front();
  std::string text = fmt::format(".TH SCRM 1 \"\" \"scrm {}\" \"User Commands\"\n", roff(version));
  text += ".SH NAME\nscrm \\- evaluate and learn decision policies from logged bandit data\n";
  text += ".SH SYNOPSIS\n.B scrm\n.I command\n.RI [ options ]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n", roff(program.description));
  text += ".SH OPTIONS\n";
  for (const OptionFacts& option : program.options) text += option_entry(option);
  text += ".SS Of every command on data\n" + common_options(commands);
  text += ".SH COMMANDS\n";
  for (std::size_t c = 1; c < commands.size(); ++c) text += section(commands[c]);
  text += ".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nThe data or the run failed.\n.TP\n.B 2\nWrong usage.\n";
  return text;
}

}  // namespace scrm
