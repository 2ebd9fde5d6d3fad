/// How estimates are printed, on the terminal and on the page of a report.
#pragma once

#include <optional>
#include <string>

namespace scrm {

/// Decimals that show two digits of the standard error: more would be noise.
int decimals_for(const std::optional<double>& standard_error, double value);

/// The number with so many decimals; what is too small or too large to be read that way with an exponent. `missing`
/// stands for a number that is not given.
std::string shown(const std::optional<double>& value, int decimals, const char* missing = "-");

/// "[low, high]", or the one end that there is.
std::string interval_text(const std::optional<double>& low, const std::optional<double>& high, int decimals,
                          const char* missing = "-");

}  // namespace scrm
