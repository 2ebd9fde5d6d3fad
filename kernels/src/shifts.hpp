/// Values near the means of a block's quantities, by which they are shifted before they are summed.
#pragma once

#include <algorithm>

#include "scrm/kernels/weight_sums.hpp"

namespace scrm {

struct Shifts {
  double weight = 0, ips = 0, clipped = 0, ix = 0, loss = 0;
};

/// first + mean of (value(i) − first) over a few rows: exact when all are equal, so that constants have no variance.
template <class Value>
double near_mean(int n, Value value) noexcept {
  constexpr int kSample = 32;
  if (n == 0) return 0;
  const int sample = std::min(n, kSample);
  const double first = value(0);
  double sum = 0;
  for (int i = 1; i < sample; ++i) sum += value(i) - first;
  return first + sum / sample;
}

inline Shifts near_means(const double* w, const double* y, int n, const WeightRules& rules) noexcept {
  Shifts out;
  out.weight = near_mean(n, [&](int i) { return w[i]; });
  out.loss = near_mean(n, [&](int i) { return y[i]; });
  out.ips = near_mean(n, [&](int i) { return w[i] * y[i]; });
  out.ix = near_mean(n, [&](int i) { return w[i] * y[i] / (1 + rules.alpha * w[i]); });
  if (rules.clip > 0) out.clipped = near_mean(n, [&](int i) { return std::min(w[i], rules.clip) * y[i]; });
  return out;
}

}  // namespace scrm
