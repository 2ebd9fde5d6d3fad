/// Policy files: TOML, small and readable, the way policies enter and leave the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "scrm/kernels/policy.hpp"

namespace scrm {

/// How many rows theta has.
enum class ThetaRows : std::uint8_t { none, one, per_action };

/// Which parameters a kind of policy has, and so which keys its file.
struct PolicyFormat {
  PolicyKind kind;
  ThetaRows theta = ThetaRows::one;
  std::string_view scale = {};  ///< what the scale is, such as "standard deviation"; empty: it has none
  bool epsilon = false;         ///< whether it can be mixed with uniform
  bool mixing = false;          ///< whether epsilon can be mixed in jointly or per label
};

// The kinds of the registry are read and written without naming them by the functions of scrm/engine/policy_kind.hpp.

/// Reads a policy of one of these kinds; errors name file, line and key.
Policy read_policy(const std::string& path, std::span<const PolicyFormat> kinds);

/// The file's text, every number in the fewest digits that read back to the same double; `comment` lines go on top.
std::string policy_text(const Policy& policy, const PolicyFormat& format, const std::string& comment = {});

}  // namespace scrm
