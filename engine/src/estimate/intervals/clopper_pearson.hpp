/// Clopper–Pearson intervals for the mean of terms between 0 and 1.
#pragma once

#include <utility>

namespace scrm {

/// The exact interval of a binomial share, with the sum of the terms for the number of successes: terms between 0 and 1
/// vary less than successes of the same mean. Beta quantiles at (1 − level)/2 on either side.
std::pair<double, double> clopper_pearson(double sum, double rows, double level);

}  // namespace scrm
