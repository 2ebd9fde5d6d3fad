/// Numbers as people write them on a command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scrm {

/// A number, or nothing when the text is not exactly one; "nan" is none.
std::optional<double> number_option(std::string_view text);

/// A number, or nothing for "auto"; a usage Error that names the option otherwise.
std::optional<double> number_or_auto(const std::string& text, const char* option);

/// Numbers separated by commas; a usage Error that names the option and says what it takes otherwise.
std::vector<double> parse_numbers(const std::string& text, const char* option, const char* takes);

/// Two numbers as in -3:3, the lower first; a usage Error that names the option otherwise.
std::pair<double, double> parse_range(const std::string& text, const char* option);

}  // namespace scrm
