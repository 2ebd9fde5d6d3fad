#include "text/csv/date_spelling.hpp"

#include <chrono>

#include "file/text.hpp"

namespace scrm {
namespace {

/// Takes the digits that the text begins with; their number, and what they come to.
struct Digits {
  int count = 0, value = 0;

  explicit Digits(std::string_view& text) noexcept {
    constexpr int kMost = 5;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && count < kMost) {
      value = 10 * value + (text.front() - '0');
      text.remove_prefix(1);
      ++count;
    }
  }

  bool year() const noexcept { return count == 4; }
  bool day_or_month() const noexcept { return (count == 1 || count == 2) && value >= 1 && value <= 31; }
};

}  // namespace

bool is_other_date(std::string_view text) noexcept {
  text = trimmed(text);
  const Digits first(text);
  if (text.empty() || (text.front() != '.' && text.front() != '/' && text.front() != '-')) return false;
  const char separator = text.front();
  text.remove_prefix(1);
  const Digits second(text);
  if (text.empty() || text.front() != separator) return false;
  text.remove_prefix(1);
  const Digits third(text);
  if (!text.empty() && text.front() != ' ' && text.front() != 'T') return false;
  const bool year_first = first.year() && second.day_or_month() && third.day_or_month();
  const bool year_last = first.day_or_month() && second.day_or_month() && (third.year() || third.count == 2);
  return (year_first || year_last) && (first.value <= 12 || second.value <= 12 || third.value <= 12);
}

bool is_compact_date(double value) noexcept {
  if (!(value >= 19000101 && value <= 20991231)) return false;
  const auto number = static_cast<int>(value);
  if (number != value) return false;
  return std::chrono::year_month_day{std::chrono::year(number / 10000),
                                     std::chrono::month(static_cast<unsigned>(number / 100 % 100)),
                                     std::chrono::day(static_cast<unsigned>(number % 100))}
      .ok();
}

}  // namespace scrm
