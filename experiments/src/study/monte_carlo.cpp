#include "study/monte_carlo.hpp"

#include <algorithm>
#include <cmath>

#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

MonteCarlo average(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) moments.merge(Moments::of(value));
  const double n = moments.count;
  return {moments.mean, n > 1 ? std::sqrt(moments.square_sum / (n - 1) / n) : std::nan("")};
}

EstimateErrors errors_of(const std::vector<double>& values, double truth) {
  EstimateErrors out;
  const MonteCarlo mean = average(values);
  out.bias = {mean.mean - truth, mean.error};
  std::vector<double> spread, squares;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) {
    // n/(n − 1), so that their average is the sample variance.
    spread.push_back((value - mean.mean) * (value - mean.mean) * n / std::max(n - 1, 1.0));
    squares.push_back((value - truth) * (value - truth));
  }
  out.variance = average(spread);
  out.squared_error = average(squares);
  return out;
}

}  // namespace scrm
