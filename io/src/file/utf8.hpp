/// Text made safe for readers that insist on UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace scrm {

/// The text, with U+FFFD in place of every byte that is not part of valid UTF-8 and of every NUL, which would end it.
std::string sanitize_utf8(std::string_view text);

}  // namespace scrm
