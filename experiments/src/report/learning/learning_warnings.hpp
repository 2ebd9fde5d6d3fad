/// What warnings of a fit look at, and its summary shows too.
#pragma once

#include <vector>

#include "report/learning/learning_text.hpp"

namespace scrm {

/// Actions of which less than one row can be expected in as many rows as were learned from.
std::vector<std::size_t> vanishing_actions(const LearnOutcome& outcome);

/// A loss in the outcome's own sign; never -0.
double in_sign(double loss, Outcome outcome);

}  // namespace scrm
