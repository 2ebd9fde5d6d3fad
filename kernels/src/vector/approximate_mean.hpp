/// A value near the mean of a quantity, by which it is shifted before it is summed.
#pragma once

#include <algorithm>

#include "weights/included_rows.hpp"

namespace scrm {

/// first + mean of (value(i) − first) over a few rows: exact when all are equal, so that constants have no variance.
template <class Value>
double approximate_mean(int n, Value value) noexcept {
  if (n == 0) return 0;
  const int sample = std::min(n, kShiftSample);
  const double first = value(0);
  double sum = 0;
  for (int i = 1; i < sample; ++i) sum += value(i) - first;
  return first + sum / sample;
}

}  // namespace scrm
