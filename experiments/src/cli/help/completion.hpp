/// Scripts with which shells complete commands, options and their values, made from the parser's own.
#pragma once

#include <string>
#include <vector>

#include "cli/help/command_facts.hpp"

namespace scrm {

std::string bash_completion(const std::vector<CommandFacts>& commands);
std::string zsh_completion(const std::vector<CommandFacts>& commands);

}  // namespace scrm
