/// json_number: a number as JSON has it, null where it has none.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace scrm {

inline nlohmann::json json_number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace scrm
