/// HistogramChart: how often numbers fall into bins, and a few of them marked by name.
#pragma once

#include <string>
#include <vector>

#include "report/charts/chart.hpp"
#include "report/charts/scale.hpp"

namespace scrm {

struct HistogramBin {
  double low = 0, high = 0;
  double count = 0;
};

struct HistogramMark {
  std::string name;
  double value = 0;
};

struct HistogramChart {
  std::string title;
  Axis x;
  std::string unit = "rows";       ///< what is counted
  std::vector<HistogramBin> bins;  ///< in order; empty ones may be left out
  std::vector<HistogramMark> marks = {};
  std::string note = {};  ///< a line below the axis
};

Chart draw(const HistogramChart& chart);

}  // namespace scrm
