/// Numbers as people and programs write them, read the same way everywhere and in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace scrm {

/// A decimal number that is the whole text: blanks around it, a leading '+', "nan" and "inf" are allowed; a number too
/// large for a double is infinite. Nothing when it is something else.
std::optional<double> parse_double(std::string_view text) noexcept;

/// A whole number that is the whole text, digits with at most a '-' before them. One that does not fit is the largest
/// (or smallest) there is. Nothing when it is something else.
std::optional<std::int64_t> parse_integer(std::string_view text, int base = 10) noexcept;

}  // namespace scrm
