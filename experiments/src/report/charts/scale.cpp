#include "report/charts/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/charts/svg.hpp"

namespace scrm {
namespace {

/// The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below it.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 2.5, 5.0}) {
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  }
  return 10 * power;
}

std::string superscript(int number) {
  constexpr std::array kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char c : fmt::format("{}", number)) out += c == '-' ? "⁻" : kDigits[static_cast<std::size_t>(c - '0')];
  return out;
}

/// 2, 5 or 10 to a power that is written in full while it is short.
std::string log_tick_text(double digit, int power) {
  if (power >= -3 && power < 3) return fmt::format("{:g}", digit * std::pow(10.0, power));
  if (power >= 3 && power < 12) {
    constexpr std::array kUnits = {" k", " M", " G"};
    const int unit = power / 3 - 1;
    return fmt::format("{:g}{}", digit * std::pow(10.0, power % 3), kUnits[static_cast<std::size_t>(unit)]);
  }
  return (digit == 1 ? "10" : fmt::format("{:g}·10", digit)) + superscript(power);
}

}  // namespace

void Range::add(double value) {
  if (!holds(value)) return;
  if (empty()) {
    low_ = high_ = value;
  } else {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
}

bool Range::holds(double value) const {
  return std::isfinite(value) && (kind_ == ScaleKind::linear || value > 0);
}

std::string tick_text(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  const double size = std::max(std::abs(value), step);
  std::string text;
  if (size >= 1e7 || size < 1e-4) {
    const int power = static_cast<int>(std::floor(std::log10(size) + 1e-9));
    const int digits = std::max(0, power - static_cast<int>(std::floor(std::log10(step) + 1e-9)));
    text = fmt::format("{:.{}f}", value / std::pow(10.0, power), std::min(digits, 12));
    if (text.find('.') != std::string::npos) {
      text.erase(text.find_last_not_of('0') + 1);
      if (text.back() == '.') text.pop_back();
    }
    text += "·10" + superscript(power);
  } else {
    int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    if (std::abs(step * std::pow(10.0, decimals) - std::round(step * std::pow(10.0, decimals))) > 1e-6) ++decimals;
    text = fmt::format("{:.{}f}", value, decimals);
    const std::size_t first = text.front() == '-' ? 1 : 0;
    for (std::size_t at = std::min(text.find('.'), text.size()); at > first + 3;) text.insert(at -= 3, 1, ',');
  }
  return with_minus_sign(std::move(text));
}

Scale::Scale(const Axis& axis, const Range& range, int most_ticks)
    : kind_(axis.kind), low_(range.empty() ? 1 : range.low()), high_(range.empty() ? 1 : range.high()) {
  low_ = axis.low.value_or(low_);
  high_ = std::max(axis.high.value_or(high_), low_);
  if (kind_ == ScaleKind::logarithmic) {
    place_log_ticks(axis, most_ticks);
  } else {
    place_linear_ticks(axis, most_ticks);
  }
}

void Scale::place_linear_ticks(const Axis& axis, int most) {
  // Numbers that differ in their last digits only are shown as one.
  const double size = std::max(std::abs(low_), std::abs(high_));
  if (!(high_ - low_ > size * 1e-9)) {
    const double room = size > 0 ? size * 0.1 : 1;
    low_ -= room;
    high_ += room;
  } else {
    const double room = (high_ - low_) * 0.03;
    if (!axis.low) low_ -= low_ == 0 ? 0 : room;
    if (!axis.high) high_ += room;
  }
  const double step = round_step((high_ - low_) / most);
  // An end that is near a tick goes out to it.
  constexpr double kNear = 0.35;
  if (!axis.low && low_ - std::floor(low_ / step) * step < kNear * step) low_ = std::floor(low_ / step) * step;
  if (!axis.high && std::ceil(high_ / step) * step - high_ < kNear * step) high_ = std::ceil(high_ / step) * step;
  for (double index = std::ceil(low_ / step - 1e-9); index * step <= high_ + step * 1e-9; ++index)
    ticks_.push_back({index * step, tick_text(index * step, step)});
}

void Scale::place_log_ticks(const Axis& axis, int most) {
  if (!axis.low) low_ = std::max(low_ / 1.15, std::numeric_limits<double>::min());
  if (!axis.high) high_ *= 1.15;
  const int first = static_cast<int>(std::floor(std::log10(low_) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high_) - 1e-9));
  const int every = std::max(1, (last - first + most - 1) / most);
  const bool few = 3 * std::log10(high_ / low_) <= most;
  for (int power = first; power <= last; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10.0, power);
      const bool shown = few || (digit == 1 && (power - first) % every == 0);
      if (shown && value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9))
        ticks_.push_back({value, with_minus_sign(log_tick_text(digit, power))});
    }
  }
  if (ticks_.size() > 1) return;
  // Much less than a decade: round numbers at equal steps.
  ticks_.clear();
  const double step = round_step((high_ - low_) / most);
  for (double index = std::ceil(low_ / step); index * step <= high_; ++index)
    ticks_.push_back({index * step, tick_text(index * step, step)});
}

double Scale::share(double value) const {
  if (!std::isfinite(value) || (kind_ == ScaleKind::logarithmic && !(value > 0)))
    return std::numeric_limits<double>::quiet_NaN();
  if (kind_ == ScaleKind::linear) return (value - low_) / (high_ - low_);
  return std::log(value / low_) / std::log(high_ / low_);
}

}  // namespace scrm
