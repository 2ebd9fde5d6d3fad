/// ISO 8601 dates and times as numbers.
#pragma once

#include <optional>
#include <string_view>

namespace scrm {

/// Days since 1970-01-01 UTC of "2026-01-31", "2026-01-31T12:34:56Z", "2026-01-31 12:34",
/// "2026-01-31T12:34:56.789+02:00" (a time without a zone is UTC); nothing for any other text and for days that do not
/// exist.
std::optional<double> parse_iso_date(std::string_view text) noexcept;

}  // namespace scrm
