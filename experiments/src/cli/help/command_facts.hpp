/// What commands and options say of themselves, read from the parser, for every form of help but --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace scrm {

struct OptionFacts {
  std::vector<std::string> names;  ///< "-h", "--help"; of a positional, its one name
  bool positional = false;
  std::string value;  ///< what stands for the value, such as FILE; empty for a flag
  std::string description;
  std::string group;
  std::vector<std::string> choices;  ///< the words it takes, where they are few
  bool takes_path = false;
  bool is_list = false;  ///< values separated by commas
  bool many = false;     ///< a positional that takes any number of values
  bool required = false;
};

struct CommandFacts {
  std::string name, description;
  std::string footer;  ///< formulas and examples, as --help ends with them
  std::vector<OptionFacts> options;
};

/// The program itself first, then its commands.
std::vector<CommandFacts> command_facts(CLI::App& program);

}  // namespace scrm
