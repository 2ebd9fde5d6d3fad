#include "estimate/intervals/quantiles.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>

namespace scrm {
namespace {

/// Bisects an increasing function on [0, high] until the interval is as narrow as doubles allow.
template <class Function>
double solve_increasing(Function function, double target, double high) {
  while (function(high) < target && std::isfinite(high)) high *= 2;
  double low = 0;
  for (int step = 0; step < 200; ++step) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (function(middle) < target ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

/// Continued fraction of the incomplete beta function, evaluated by the modified Lentz method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double result = d;
  for (int m = 1; m < 100000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double coefficient : {even, odd}) {
      d = 1 + coefficient * d;
      c = 1 + coefficient / c;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      if (std::abs(c) < kTiny) c = kTiny;
      factor *= c * d;
    }
    result *= factor;
    if (std::abs(factor - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return result;
}

/// Logarithms of gamma functions grow like ν ln ν and their difference does not: long doubles keep its digits.
double log_beta(long double a, long double b) {
  return static_cast<double>(std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b));
}

/// P(|T| ≤ t) = 1 − I_{ν/(ν+t²)}(ν/2, 1/2).
double central_probability(double t, double degrees) {
  const double a = degrees / 2, b = 0.5;
  const double x = degrees / (degrees + t * t);
  const double rest = t * t / (degrees + t * t);  // 1 − x without cancellation
  if (rest == 0) return 0;
  const double front = std::exp(a * std::log(x) + b * std::log(rest) - log_beta(a, b));
  if (x < (a + 1) / (a + b + 2)) return 1 - front * beta_fraction(a, b, x) / a;
  return front * beta_fraction(b, a, rest) / b;
}

/// P(|T| > t) = I_{ν/(ν+t²)}(ν/2, 1/2), as itself and not as what is left of one: for t far beyond the centre.
double tail_probability(double t, double degrees) {
  const double a = degrees / 2, b = 0.5;
  const double ratio = t / std::sqrt(degrees);
  constexpr double kSquareable = 1e150;
  const double log_x = ratio < kSquareable ? -std::log1p(ratio * ratio) : -2 * std::log(ratio);
  const double x = std::exp(log_x);
  if (x >= (a + 1) / (a + b + 2)) return 1 - central_probability(t, degrees);
  return std::exp(a * log_x + b * std::log1p(-x) - log_beta(a, b)) * beta_fraction(a, b, x) / a;
}

// Below this the difference to one has lost digits that matter; above, central probabilities are as good.
constexpr double kFarTail = 1e-6;
// Up to this z²/ν the expansion around the normal quantile has its digits, and above this ν it is worth it.
constexpr double kNearlyNormalShare = 1e-3;
constexpr double kNearlyNormal = 2000;

}  // namespace

double normal_upper_quantile(double tail) {
  if (tail > 0.5) return -normal_upper_quantile(1 - tail);
  // The upper tail 1 − Φ(z) = erfc(z/√2)/2 keeps its digits where Φ itself is close to one.
  return solve_increasing([](double z) { return -0.5 * std::erfc(z / std::sqrt(2.0)); }, -tail, 8.0);
}

double student_upper_quantile(double tail, double degrees) {
  if (tail > 0.5) return -student_upper_quantile(1 - tail, degrees);
  const double z = normal_upper_quantile(tail);
  const double z2 = z * z;
  if (degrees > kNearlyNormal && (tail > kFarTail || z2 < kNearlyNormalShare * degrees)) {
    // The expansion around the normal quantile in powers of 1/ν: what is left out is below 1e-13 for levels to 0.999.
    const double first = z * (z2 + 1) / 4;
    const double second = z * (5 * z2 * z2 + 16 * z2 + 3) / 96;
    const double third = z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / 384;
    const double fourth = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    return z + (first + (second + (third + fourth / degrees) / degrees) / degrees) / degrees;
  }
  if (tail < kFarTail) {
    return solve_increasing([degrees](double t) { return -tail_probability(t, degrees); }, -2 * tail, 8.0);
  }
  return solve_increasing([degrees](double t) { return central_probability(t, degrees); }, 1 - 2 * tail, 8.0);
}

double student_upper_tail(double t, double degrees) {
  if (t < 0) return 1 - student_upper_tail(-t, degrees);
  return tail_probability(t, degrees) / 2;
}

namespace {

/// P(X ≤ x) for X ~ Beta(a, b).
double beta_probability(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta(a, b));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double beta_quantile(double probability, double a, double b) {
  if (a == 0) return 0;
  if (b == 0) return 1;
  // By its logarithm: quantiles of rare events are small, and their digits count.
  double low = -745, high = 0;
  for (int step = 0; step < 200; ++step) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (beta_probability(std::exp(middle), a, b) < probability ? low : high) = middle;
  }
  return std::exp(low + (high - low) / 2);
}

double log_gamma_probability(double a, double x) {
  const long double wide_a = a;
  const double log_front = a * std::log(x) - x - static_cast<double>(std::lgamma(wide_a));
  constexpr int kMostTerms = 10'000'000;  // √a terms suffice
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < kMostTerms && term > sum * std::numeric_limits<double>::epsilon(); ++n) {
      term *= x / (a + n);
      sum += term;
    }
    return log_front + std::log(sum);
  }
  // The continued fraction of the upper tail, by the modified Lentz method.
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, result = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = -n * (n - a);
    b += 2;
    d = numerator * d + b;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = b + numerator / c;
    if (std::abs(c) < kTiny) c = kTiny;
    result *= d * c;
    if (std::abs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return std::log1p(-std::exp(log_front + std::log(result)));
}

}  // namespace scrm
