/// The estimators and intervals in the help of commands.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/interval.hpp"

namespace scrm {

/// A heading, and a line for each of the names.
inline std::string estimator_help(const std::vector<std::string>& names) {
  std::string text = "Estimators (w weight, y loss):\n";
  for (const std::string& name : names) text += fmt::format("  {:<13}{}\n", name, find_estimator(name).formula);
  return text;
}

inline std::string interval_help() {
  std::string text = "\nIntervals, and when they hold:\n";
  for (const IntervalDefinition& interval : all_intervals())
    text += fmt::format("  {:<17}{}\n", interval.name, interval.holds);
  return text;
}

}  // namespace scrm
