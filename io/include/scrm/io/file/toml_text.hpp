/// Values as TOML text: what every file of ours that is read back is written with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scrm {

/// A basic string, with control characters as escapes.
std::string toml_string(std::string_view text);

/// A float with the fewest digits that read back to the same bits, always with a point or an exponent.
std::string toml_float(double value);

/// A list of strings, or of floats, on one line.
std::string toml_list(const std::vector<std::string>& texts);
std::string toml_list(std::span<const double> values);

}  // namespace scrm
