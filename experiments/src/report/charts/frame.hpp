/// Frame: the box that data is drawn in, with its axes, ticks, grid and labels.
#pragma once

#include <string>

#include "report/charts/scale.hpp"

namespace scrm {

/// The room for a plot and its tick texts within a chart.
struct FrameRoom {
  double left = 0, right = 0;  ///< tick texts of the vertical axis lie within
  double top = 0, height = 0;  ///< of the box alone
};

class Frame {
 public:
  Frame(const Axis& x, const Range& x_range, const Axis& y, const Range& y_range, const FrameRoom& room);

  double x(double value) const { return left_ + x_scale_.share(value) * (right_ - left_); }
  double y(double value) const { return bottom_ - y_scale_.share(value) * (bottom_ - top_); }
  double left() const noexcept { return left_; }
  double right() const noexcept { return right_; }
  double top() const noexcept { return top_; }
  double bottom() const noexcept { return bottom_; }

  /// Grid, axes, ticks and labels; nothing of it lies below bottom() + kBelow.
  std::string svg() const;
  /// The same without the vertical axis, whose place others take; grid lines stand upright.
  std::string horizontal_svg() const;
  /// Elements that may reach beyond the box, cut at its borders.
  std::string clipped(const std::string& elements) const;

  /// Ticks and the label under the box.
  static constexpr double kBelow = 44;
  /// The label of the vertical axis, which stands above the box.
  static constexpr double kAbove = 26;

 private:
  /// Axis, ticks and label at the foot of the box.
  std::string foot() const;

  Axis x_axis_, y_axis_;
  Scale x_scale_, y_scale_;
  double left_, right_, top_, bottom_;
};

}  // namespace scrm
