/// Policy files: TOML, small and readable, the way policies enter and leave the program.
#pragma once

#include <string>

#include "scrm/kernels/policy.hpp"

namespace scrm {

/// Reads a policy; errors name file, line and key.
Policy read_policy(const std::string& path);

/// The file's text, every number in the fewest digits that read back to the same double; `comment` lines go on top.
std::string policy_text(const Policy& policy, const std::string& comment = {});

/// Writes atomically.
void write_policy(const std::string& path, const Policy& policy, const std::string& comment = {});

/// "gaussian", "lognormal", ... as the file spells them.
const char* to_string(PolicyKind kind) noexcept;

}  // namespace scrm
