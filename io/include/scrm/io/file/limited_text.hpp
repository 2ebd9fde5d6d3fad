/// read_limited_text: a text that is parsed as a whole, a file or a pipe, refused where it is too long for that.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "scrm/io/policy/policy_file.hpp"

namespace scrm {

/// At most `max_bytes` bytes; a longer text is an Error of kind memory, and no more of it is read. `what` names it in
/// errors: "policy file".
std::string read_limited_text(const std::string& path, std::size_t max_bytes, const std::string& what);

/// Bytes that a TOML text of this length with so many values takes while it is parsed, itself included.
std::size_t toml_bytes(const std::string& text);

/// read_policy within `memory` bytes: a text that would take more is an Error of kind memory.
Policy read_policy(const std::string& path, std::span<const PolicyFormat> kinds, std::size_t memory);

}  // namespace scrm
