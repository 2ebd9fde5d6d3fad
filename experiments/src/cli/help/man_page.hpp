/// The manual page of the program, in roff, made from the parser's own commands and options.
#pragma once

#include <string>
#include <vector>

#include "cli/help/command_facts.hpp"

namespace scrm {

std::string man_page(const std::vector<CommandFacts>& commands, const std::string& version);

}  // namespace scrm
