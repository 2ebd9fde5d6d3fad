#include "text/csv/number_spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "file/text.hpp"
#include "scrm/io/file/numbers.hpp"

namespace scrm {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The whole number without what stands between its groups of three digits; empty where there are no such groups.
std::string join_groups(std::string_view whole, std::string_view separator) {
  constexpr std::size_t kGroup = 3;
  std::string joined;
  if (!whole.empty() && (whole.front() == '-' || whole.front() == '+')) {
    joined = whole.substr(0, 1);
    whole.remove_prefix(1);
  }
  for (int groups = 0;; ++groups) {
    const std::size_t end = std::min(whole.find(separator), whole.size());
    const std::string_view group = whole.substr(0, end);
    if (!is_digits(group) || group.size() > kGroup || (groups > 0 && group.size() < kGroup)) return "";
    joined += group;
    if (end == whole.size()) return groups > 0 ? joined : "";
    whole.remove_prefix(end + separator.size());
  }
}

/// As join_groups, with decimals behind `point`.
std::string without_thousands(std::string_view text, std::string_view separator, char point) {
  const std::size_t at = std::min(text.find(point), text.size());
  std::string joined = join_groups(text.substr(0, at), separator);
  if (joined.empty() || at == text.size()) return joined;
  const std::string_view decimals = text.substr(at + 1);
  return is_digits(decimals) ? joined + "." + std::string(decimals) : "";
}

/// "1.5" of "1,5", as some countries write it; empty where the text is not that.
std::string with_decimal_point(std::string_view text) {
  std::string with_point(text);
  std::replace(with_point.begin(), with_point.end(), ',', '.');
  return with_point != text && parse_double(with_point) ? with_point : "";
}

}  // namespace

std::string number_hint(std::string_view text) {
  text = trimmed(text);
  if (truth_value(text) >= 0) return "write 1 for true and 0 for false";
  const std::string decimal = with_decimal_point(text);
  // Blanks that do not break a line, wide and narrow, among the separators.
  constexpr std::array<std::string_view, 6> kSeparators = {",", " ", "'", "_", "\u00a0", "\u202f"};
  for (const std::string_view separator : kSeparators) {
    const std::string whole = without_thousands(text, separator, '.');
    if (whole.empty()) continue;
    if (decimal.empty()) return fmt::format("thousands have no separator here, as in {}", whole);
    return fmt::format("decimals are written with a point here, and thousands without a separator, as in {} or {}",
                       decimal, whole);
  }
  if (const std::string whole = without_thousands(text, ".", ','); !whole.empty())
    return fmt::format("decimals are written with a point here, and thousands without a separator, as in {}", whole);
  return decimal.empty() ? "" : "decimals are written with a point here";
}

int truth_value(std::string_view text) noexcept {
  text = trimmed(text);
  const auto is = [text](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
  };
  return is("true") ? 1 : is("false") ? 0 : -1;
}

}  // namespace scrm
