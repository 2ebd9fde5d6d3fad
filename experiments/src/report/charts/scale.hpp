/// Scale: where numbers lie along an axis, and the round ones that are written beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scrm {

enum class ScaleKind : std::uint8_t { linear, logarithmic };

/// An axis as a chart is asked to draw it. Where no end is given, it is that of the data.
struct Axis {
  std::string label = {};  ///< with the unit, where there is one
  ScaleKind kind = ScaleKind::linear;
  std::optional<double> low = {}, high = {};
};

struct Tick {
  double value = 0;
  std::string text;
};

/// The numbers that an axis is to hold: those that are not finite, or not above zero on a logarithmic one, are left
/// out.
class Range {
 public:
  explicit Range(ScaleKind kind) : kind_(kind) {}
  void add(double value);
  bool holds(double value) const;  ///< whether an axis can show it at all
  double low() const { return low_; }
  double high() const { return high_; }
  bool empty() const { return !(low_ <= high_); }

 private:
  ScaleKind kind_;
  double low_ = 1, high_ = 0;
};

class Scale {
 public:
  /// With room around what the range holds, out to the next tick where that is near.
  Scale(const Axis& axis, const Range& range, int most_ticks);

  /// 0 at the low end, 1 at the high end; beyond them for numbers outside. NaN for those it cannot show.
  double share(double value) const;
  const std::vector<Tick>& ticks() const noexcept { return ticks_; }
  double low() const noexcept { return low_; }
  double high() const noexcept { return high_; }

 private:
  void place_linear_ticks(const Axis& axis, int most);
  void place_log_ticks(const Axis& axis, int most);

  ScaleKind kind_;
  double low_, high_;
  std::vector<Tick> ticks_;
};

/// "1,500", "−0.25", "2 M", "10⁻⁵": as few digits as the step between ticks needs.
std::string tick_text(double value, double step);

}  // namespace scrm
