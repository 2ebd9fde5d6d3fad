#include "estimate/intervals/clopper_pearson.hpp"

#include <algorithm>

#include "estimate/intervals/quantiles.hpp"

namespace scrm {

std::pair<double, double> clopper_pearson(double sum, double rows, double level) {
  const double tail = (1 - level) / 2;
  const double successes = std::clamp(sum, 0.0, rows);
  return {beta_quantile(tail, successes, rows - successes + 1),
          beta_quantile(1 - tail, successes + 1, rows - successes)};
}

}  // namespace scrm
