/// Numbers in spellings that are not read, which messages tell apart from other texts.
#pragma once

#include <string>
#include <string_view>

namespace scrm {

/// What to write instead of a text that is meant as a number or a truth value: "1,234.5", "1.234,5", "1,5", "True".
/// Empty where it is something else.
std::string number_hint(std::string_view text);

/// 1 or 0 of "True", "true", "FALSE" in any case; -1 of any other text.
int truth_value(std::string_view text) noexcept;

}  // namespace scrm
