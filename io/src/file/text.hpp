/// Text in small: blanks, parts of it as messages show them, and what readers that insist on UTF-8 accept.
#pragma once

#include <string>
#include <string_view>

namespace scrm {

inline bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t';
}

/// Without blanks at either end.
inline std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// A part of a file as a message shows it: on one line, and cut where it is long.
std::string excerpt(std::string_view text);

/// The text, with U+FFFD in place of every byte that is not part of valid UTF-8 and of every NUL, which would end it.
std::string sanitize_utf8(std::string_view text);

/// The text as a name of a feature or an action: UTF-8 on one line, since long lists of names have a line for each.
std::string name_text(std::string_view text);

}  // namespace scrm
