#include "report/text/estimate_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scrm {
namespace {

// Numbers with more decimals and smaller than these, and those that are larger, have an exponent.
constexpr int kMostDecimals = 9;
constexpr double kSmall = 1e-4, kLarge = 1e9;
// What a double has behind the point, for numbers near one whose standard error is tiny.
constexpr int kMostDigits = 12;
constexpr int kAnyDecimals = 330;

}  // namespace

int decimals_for(const std::optional<double>& standard_error, double value) {
  const double scale = standard_error.value_or(0) > 0 ? *standard_error : std::abs(value) * 1e-4;
  if (!(scale > 0)) return 4;
  return static_cast<int>(std::clamp(1 - std::floor(std::log10(scale)), 0.0, static_cast<double>(kAnyDecimals)));
}

std::string shown(const std::optional<double>& value, int decimals, const char* missing) {
  if (!value) return missing;
  if (!std::isfinite(*value)) return "overflow";
  const double size = std::abs(*value);
  if (size >= kLarge) return fmt::format("{:.4g}", *value);
  if (decimals > kMostDecimals && size < kSmall) {
    if (size == 0) return "0";
    const int digits = static_cast<int>(std::floor(std::log10(size))) + decimals;
    return fmt::format("{:.{}e}", *value, std::clamp(digits, 1, kMostDigits));
  }
  const std::string text = fmt::format("{:.{}f}", *value, std::min(decimals, kMostDigits));
  // What rounds to zero has no sign.
  return text.find_first_of("123456789") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
}

std::string interval_text(const std::optional<double>& low, const std::optional<double>& high, int decimals,
                          const char* missing) {
  if (low && high) return fmt::format("[{}, {}]", shown(low, decimals, missing), shown(high, decimals, missing));
  if (high) return fmt::format("at most {}", shown(high, decimals, missing));
  if (low) return fmt::format("at least {}", shown(low, decimals, missing));
  return missing;
}

}  // namespace scrm
