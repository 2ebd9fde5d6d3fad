/// Dates in spellings that are not read as dates, which messages tell apart from other texts and numbers.
#pragma once

#include <string_view>

namespace scrm {

/// Whether this is a date such as 31.01.2026, 01/31/2026, 2026/01/31 or 31-01-26, perhaps with a time behind it.
bool is_other_date(std::string_view text) noexcept;

/// Whether this number is a date written without dashes, such as 20260131, of the years 1900 to 2099.
bool is_compact_date(double value) noexcept;

}  // namespace scrm
