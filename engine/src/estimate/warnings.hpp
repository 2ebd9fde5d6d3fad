/// What a practitioner should know before trusting an estimate, in words.
#pragma once

#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

/// Names of estimators whose numbers are beyond the largest double.
struct Overflows {
  std::vector<std::string> values, standard_errors, intervals;
};

/// Says which numbers are missing because losses or weights are too large for them, and what to do.
void add_overflow_warnings(const Overflows& overflows, Diagnostics& diagnostics);

/// Adds the warnings that weights call for: their mean is not one, few rows count, one row dominates, one row only.
void add_weight_warnings(double rows, Diagnostics& diagnostics);

}  // namespace scrm
