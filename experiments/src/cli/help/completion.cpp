#include "cli/help/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace scrm {
namespace {

/// The program is the first of the commands.
std::vector<std::string> command_names(const std::vector<CommandFacts>& commands) {
  std::vector<std::string> names;
  for (std::size_t c = 1; c < commands.size(); ++c) names.push_back(commands[c].name);
  return names;
}

std::string bash_options(const CommandFacts& command) {
  std::string names;
  for (const OptionFacts& option : command.options) {
    if (!option.positional) names += fmt::format("{}{}", names.empty() ? "" : " ", fmt::join(option.names, " "));
  }
  return names;
}

std::string bash_values(const OptionFacts& option) {
  if (!option.choices.empty()) {
    const char* function = option.is_list ? "_scrm_list" : "_scrm_words";
    return fmt::format("{} '{}'", function, fmt::join(option.choices, " "));
  }
  return option.takes_path ? "_scrm_files" : "COMPREPLY=()";
}

/// The values of options, by command and option; other words are positionals or options.
std::string bash_cases(const std::vector<CommandFacts>& commands) {
  std::string text;
  for (std::size_t c = 1; c < commands.size(); ++c) {
    std::string positional = "COMPREPLY=()";
    for (const OptionFacts& option : commands[c].options) {
      if (option.positional) positional = bash_values(option);
      if (option.positional || option.value.empty()) continue;
      text += "    ";
      for (std::size_t n = 0; n < option.names.size(); ++n)
        text += fmt::format("{}'{} {}'", n > 0 ? " | " : "", commands[c].name, option.names[n]);
      text += fmt::format(") {} ;;\n", bash_values(option));
    }
    text += fmt::format("    '{} '*) if [[ $cur == -* ]]; then _scrm_words '{}'; else {}; fi ;;\n", commands[c].name,
                        bash_options(commands[c]), positional);
  }
  return text;
}

constexpr const char* kBashFunctions =
    R"(# Completion of scrm for bash: source it, or put it into the folder of bash-completion under the name scrm.
_scrm_words() {
  local IFS=$' \t\n'
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}
# The last of several words separated by commas.
_scrm_list() {
  local IFS=$' \t\n' before=
  [[ $cur == *,* ]] && before=${cur%,*},
  COMPREPLY=($(compgen -P "$before" -W "$1" -- "${cur##*,}"))
}
_scrm_files() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}
)";

std::string escape_zsh(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else {
      if (letter == '[' || letter == ']' || letter == ':' || letter == '\\' || letter == '`' || letter == '$')
        out += '\\';
      out += letter;
    }
  }
  return out;
}

/// ":FILE:_files", ":KIND:(normal student)".
std::string zsh_value(const OptionFacts& option) {
  const std::string name = escape_zsh(option.value.empty() ? option.names.front() : option.value);
  if (!option.choices.empty()) {
    return option.is_list ? fmt::format(":{}:_values -s , {} {}", name, name, fmt::join(option.choices, " "))
                          : fmt::format(":{}:({})", name, fmt::join(option.choices, " "));
  }
  return fmt::format(":{}:{}", name, option.takes_path ? "_files" : " ");
}

std::string zsh_arguments(const CommandFacts& command) {
  std::string text;
  for (const OptionFacts& option : command.options) {
    if (option.positional) {
      text += fmt::format(" \\\n        '{}{}'", option.many ? "*" : "1", zsh_value(option));
      continue;
    }
    for (const std::string& name : option.names) {
      text += fmt::format(" \\\n        '*{}{}[{}]{}'", name, option.value.empty() || name[1] != '-' ? "" : "=",
                          escape_zsh(option.description), option.value.empty() ? "" : zsh_value(option));
    }
  }
  return text;
}

}  // namespace

std::string bash_completion(const std::vector<CommandFacts>& commands) {
  const std::string names = fmt::format("{}", fmt::join(command_names(commands), " "));
  std::string text = kBashFunctions;
  text += R"(_scrm() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word
  # --option=value comes as three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word != -* ]]; then
      command=$word
      break
    fi
  done
  COMPREPLY=()
  case "$command $prev" in
)";
  text += fmt::format("    ' '*) _scrm_words '{} help {}' ;;\n", names, bash_options(commands.front()));
  text += fmt::format("    'help help') _scrm_words '{}' ;;\n", names);
  text += bash_cases(commands);
  return text + "  esac\n}\ncomplete -F _scrm scrm\n";
}

std::string zsh_completion(const std::vector<CommandFacts>& commands) {
  std::string text =
      "#compdef scrm\n# Completion of scrm for zsh: put it into a folder of $fpath under the name _scrm.\n";
  text += "_scrm() {\n  local -a commands\n  commands=(\n";
  for (std::size_t c = 1; c < commands.size(); ++c)
    text += fmt::format("    '{}:{}'\n", commands[c].name, escape_zsh(commands[c].description));
  text += "    'help:Show the options of a command and an example'\n  )\n";
  text += R"(  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    _arguments)";
  text += zsh_arguments(commands.front());
  text += R"(
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
    help) _describe -t commands command commands ;;
)";
  for (std::size_t c = 1; c < commands.size(); ++c)
    text += fmt::format("    {})\n      _arguments{} ;;\n", commands[c].name, zsh_arguments(commands[c]));
  return text + "  esac\n}\nif [[ $funcstack[1] == _scrm ]]; then\n  _scrm \"$@\"\nelse\n  compdef _scrm scrm\nfi\n";
}

}  // namespace scrm
