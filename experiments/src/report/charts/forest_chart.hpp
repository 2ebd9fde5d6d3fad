/// ForestChart: estimates with their intervals, one below the other, and lines to compare them with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/charts/chart.hpp"

namespace scrm {

struct ForestRow {
  std::string group;  ///< a heading is written where it changes
  std::string name;
  std::optional<double> value;
  std::optional<double> low, high;  ///< an end that is missing is open
  std::string text;                 ///< the numbers in words, at the right
};

/// A vertical line, such as zero or what the logged actions cost.
struct ForestReference {
  std::string name;
  double value = 0;
};

struct ForestChart {
  std::string title;
  std::string label;  ///< of the axis
  std::vector<ForestRow> rows;
  std::optional<ForestReference> reference = {};
};

/// Where a few intervals are many times as wide as the others, they are cut and end in an arrow.
Chart draw(const ForestChart& chart);

}  // namespace scrm
