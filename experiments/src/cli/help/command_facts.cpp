#include "cli/help/command_facts.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/options/choice.hpp"

namespace scrm {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

/// The value as help shows it, without the check that CLI11 adds behind a colon (N:INT in [1 - 9], HOW:{gzip,none}).
std::string value_name(const CLI::Option& option) {
  std::string shown = option.get_type_name();
  for (std::size_t colon = shown.find(':'); colon != std::string::npos; colon = shown.find(':', colon + 1)) {
    const std::string check = shown.substr(colon + 1);
    for (const char* kind : {"{", "INT", "UINT", "FLOAT", "POSITIVE", "NONNEGATIVE"}) {
      if (check.rfind(kind, 0) == 0) return shown.substr(0, colon);
    }
  }
  return shown;
}

/// Words among the alternatives of a value, such as auto in X|auto.
std::vector<std::string> named_words(const std::string& value) {
  std::vector<std::string> words;
  for (const std::string& part : split(value, '|')) {
    const bool word = !part.empty() && std::none_of(part.begin(), part.end(), [](unsigned char letter) {
      return std::isupper(letter) != 0 || std::ispunct(letter) != 0;
    });
    if (word) words.push_back(part);
  }
  return words;
}

bool names_path(const std::string& value) {
  for (const char* kind : {"FILE", "DATA", "DIR", "PATH", "RESULTS"}) {
    if (value.rfind(kind, 0) == 0) return true;
  }
  return false;
}

OptionFacts option_facts(CLI::Option& option) {
  OptionFacts out;
  out.positional = option.get_positional();
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (out.positional) out.names = {option.get_name(true)};
  if (option.get_items_expected_max() > 0) out.value = value_name(option);
  out.description = option.get_description();
  out.group = option.get_group();
  out.choices = suggested_words(option);
  if (out.choices.empty()) out.choices = named_words(out.value);
  out.takes_path = names_path(out.value);
  out.is_list = option.get_delimiter() != '\0';
  out.many = out.positional && option.get_items_expected_max() > 1;
  out.required = option.get_required();
  return out;
}

CommandFacts facts_of(CLI::App& app) {
  CommandFacts out{
      .name = app.get_name(), .description = app.get_description(), .footer = app.get_footer(), .options = {}};
  for (CLI::Option* option : app.get_options({})) {
    if (!option->get_group().empty()) out.options.push_back(option_facts(*option));  // no group: hidden
  }
  return out;
}

}  // namespace

std::vector<CommandFacts> command_facts(CLI::App& program) {
  std::vector<CommandFacts> out = {facts_of(program)};
  for (CLI::App* command : program.get_subcommands({})) out.push_back(facts_of(*command));
  return out;
}

}  // namespace scrm
