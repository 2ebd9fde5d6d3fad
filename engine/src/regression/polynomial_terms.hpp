/// Small pieces of polynomial kernels.
#pragma once

#include <cmath>
#include <cstdint>

namespace scrm {

inline double integer_power(double base, int exponent) noexcept {
  double product = 1;
  for (int i = 0; i < exponent; ++i) product *= base;
  return product;
}

inline double binomial(int n, int k) noexcept {
  double value = 1;
  for (int i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return std::round(value);
}

inline double square_norm(const double* v, std::int64_t n) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += v[i] * v[i];
  return sum;
}

}  // namespace scrm
