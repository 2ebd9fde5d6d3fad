/// Names compared without regard to upper and lower case, for those that people type.
#pragma once

#include <algorithm>
#include <string_view>

namespace scrm {

/// Letters of ASCII only, whatever the locale.
inline bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return upper(x) == upper(y); });
}

}  // namespace scrm
