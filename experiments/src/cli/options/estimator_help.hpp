/// The estimators in the help of commands.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"

namespace scrm {

/// A heading, and a line for each of the names.
inline std::string estimator_help(const std::vector<std::string>& names) {
  std::string text = "Estimators (w weight, y loss):\n";
  for (const std::string& name : names) text += fmt::format("  {:<13}{}\n", name, find_estimator(name).formula);
  return text;
}

}  // namespace scrm
