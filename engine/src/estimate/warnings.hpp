/// What a practitioner should know before trusting an estimate, in words.
#pragma once

#include "scrm/engine/evaluate.hpp"

namespace scrm {

/// Adds the warnings that weights call for: their mean is not one, few rows count, one row dominates, one row only.
void add_weight_warnings(double rows, Diagnostics& diagnostics);

}  // namespace scrm
