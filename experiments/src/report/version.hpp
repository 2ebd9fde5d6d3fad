/// What this program is made of.
#pragma once

#include <string>

namespace scrm {

/// "0.1.0".
const char* version() noexcept;

/// Version, compiler, instruction set in use and library versions, one a line.
std::string version_text();

}  // namespace scrm
