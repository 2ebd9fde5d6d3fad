/// XyChart: curves with bands, lines of functions, and points with error bars, on linear or logarithmic axes.
#pragma once

#include <string>
#include <vector>

#include "report/charts/chart.hpp"
#include "report/charts/scale.hpp"

namespace scrm {

enum class SeriesForm : std::uint8_t {
  curve,   ///< a line with a mark at each point, and a band from low to high
  line,    ///< a line alone, as of a function that is known everywhere
  points,  ///< marks with error bars from low to high; bars of several series at one x stand side by side
};

/// Points of one colour. Those with a number that is not finite (or not above zero on a logarithmic axis) are left out,
/// and a line is broken there.
struct Series {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> low = {}, high = {};  ///< as many as points, or none
  SeriesForm form = SeriesForm::curve;
};

/// A horizontal line, as of a method that does not learn.
struct Level {
  std::string name;
  double y = 0;
};

struct XyChart {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::vector<Level> levels = {};
};

/// Names stand at the ends of their lines; where they are too many or too long for that, below the chart.
Chart draw(const XyChart& chart);

}  // namespace scrm
