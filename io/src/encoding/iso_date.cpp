#include "encoding/iso_date.hpp"

#include <chrono>

#include "file/text.hpp"

namespace scrm {
namespace {

/// Takes pieces from the front of a text; once one is not there, nothing fits any more.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : text_(text) {}

  bool done() const noexcept { return good_ && text_.empty(); }
  bool good() const noexcept { return good_; }
  bool empty() const noexcept { return text_.empty(); }

  bool take(char wanted) noexcept {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  void require(char wanted) noexcept { good_ = take(wanted) && good_; }

  /// Exactly so many digits, at most `most`.
  int number(std::size_t digits, int most) noexcept {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (i >= text_.size() || text_[i] < '0' || text_[i] > '9') {
        good_ = false;
        return 0;
      }
      value = 10 * value + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    if (value > most) good_ = false;
    return value;
  }

  /// Digits behind the point of a second; more than a double can tell apart change nothing.
  double fraction() noexcept {
    double value = 0, unit = 0.1;
    bool any = false;
    while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') {
      value += unit * (text_.front() - '0');
      unit /= 10;
      any = true;
      text_.remove_prefix(1);
    }
    good_ = good_ && any;
    return value;
  }

 private:
  std::string_view text_;
  bool good_ = true;
};

/// Seconds of "12:34", "12:34:56", "12:34:56.789" and a zone.
double seconds_of_day(Pieces& pieces) noexcept {
  double seconds = 3600.0 * pieces.number(2, 23);
  pieces.require(':');
  seconds += 60.0 * pieces.number(2, 59);
  if (pieces.take(':')) {
    seconds += pieces.number(2, 60);  // 60: a leap second
    if (pieces.take('.')) seconds += pieces.fraction();
  }
  if (pieces.take('Z') || pieces.empty()) return seconds;
  const bool east = pieces.take('+');
  if (!east) pieces.require('-');
  const int hours = pieces.number(2, 14);
  pieces.take(':');
  const int minutes = pieces.empty() ? 0 : pieces.number(2, 59);
  const double offset = 3600.0 * hours + 60.0 * minutes;
  return east ? seconds - offset : seconds + offset;
}

}  // namespace

std::optional<double> parse_iso_date(std::string_view text) noexcept {
  Pieces pieces(trimmed(text));
  const int year = pieces.number(4, 9999);
  pieces.require('-');
  const int month = pieces.number(2, 12);
  pieces.require('-');
  const int day = pieces.number(2, 31);
  if (!pieces.good()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  if (pieces.done()) return days;
  if (!pieces.take('T') && !pieces.take(' ')) return std::nullopt;
  const double seconds = seconds_of_day(pieces);
  if (!pieces.done()) return std::nullopt;
  return days + seconds / 86400;
}

}  // namespace scrm
