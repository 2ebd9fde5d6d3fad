#include "estimate/intervals/intervals.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/intervals/quantiles.hpp"

namespace scrm {
namespace {

/// (1 − level) / 2. Levels that anyone asks for keep the rounding of 1 − tail, on which the bits of their intervals
/// rest; far out that rounding would be all there is.
double upper_tail(double level) {
  constexpr double kFar = 1e-6;
  const double tail = (1 - level) / 2;
  return tail > kFar ? 1 - (1 - tail) : tail;
}

double half_width(IntervalKind kind, double level, double rows, const PointEstimate& point) {
  const double tail = upper_tail(level);
  switch (kind) {
    case IntervalKind::student:
      return student_upper_quantile(tail, rows - 1) * point.standard_error;
    case IntervalKind::bernstein: {
      // Maurer & Pontil: √(2 s² ln(2/δ)/n) + 7 R ln(2/δ) / (3 (n − 1)), with s²/n the squared standard error.
      const double log_term = std::log(2 / (1 - level));
      return std::sqrt(2 * log_term) * point.standard_error + 7 * point.range * log_term / (3 * (rows - 1));
    }
    default:
      break;
  }
  return normal_upper_quantile(tail) * point.standard_error;
}

/// Quantile by linear interpolation between order statistics.
double sorted_quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const std::size_t below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::pair<double, double> interval(IntervalKind kind, double level, double rows, const PointEstimate& point) {
  const double half = half_width(kind, level, rows, point);
  return {point.value - half, point.value + half};
}

std::optional<std::pair<double, double>> percentile_interval(double level, std::vector<double> values) {
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    return {};
  std::sort(values.begin(), values.end());
  const double tail = (1 - level) / 2;
  return std::pair{sorted_quantile(values, tail), sorted_quantile(values, 1 - tail)};
}

}  // namespace scrm
