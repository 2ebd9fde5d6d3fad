/// SeriesLabels: names of lines, at their right ends where there is room for them, else as a list below the plot.
#pragma once

#include <string>
#include <vector>

namespace scrm {

class SeriesLabels {
 public:
  explicit SeriesLabels(std::vector<std::string> names);

  double right_room() const noexcept { return right_room_; }      ///< beside the plot
  double height_below() const noexcept { return height_below_; }  ///< under the plot

  /// `ends` are the heights at which the lines end at `right`; NaN for a line that is not there.
  std::string svg(const std::vector<double>& ends, double right, double top, double below) const;

 private:
  std::string beside(const std::vector<double>& ends, double right, double top) const;
  std::string under(double below) const;

  std::vector<std::string> names_;
  double right_room_ = 0;
  double height_below_ = 0;
  double column_width_ = 0;
  std::size_t columns_ = 1;
};

}  // namespace scrm
