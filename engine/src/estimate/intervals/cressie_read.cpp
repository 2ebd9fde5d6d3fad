#include "estimate/intervals/cressie_read.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimate/intervals/quantiles.hpp"

namespace scrm {
namespace {

/// The mean of c (y − y₀) at the distribution of least divergence, what is left of its variance once c is known, and
/// that divergence; for the rows seen and one more with the control `control` and the outcome `outcome`.
struct Nearest {
  double value = 0;
  double variance = 0;
  double divergence = 0;
};

Nearest nearest(const ControlledMoments& rows, double control, double outcome) {
  const double n = rows.rows, all = n + 1;
  const double centre = rows.square.mean;  // around it, Σ c² (y − y₀) = 0
  const double mean_e = rows.mean_term - centre * rows.mean_control;
  const double squares = std::ldexp(rows.square.weight, 2 * rows.square.exponent);
  const double squares_e = std::ldexp(rows.square.square_sum, 2 * rows.square.exponent);
  const double away = outcome - centre;
  Nearest out;
  if (!std::isfinite(control)) {
    // The limit of ever larger controls: the row takes all that the others lack of the known mean, at its outcome.
    const double mean = mean_e - away * rows.mean_control;
    out.value = mean + away * rows.known_mean;
    out.variance = (squares_e + away * away * squares - n * mean * mean) / all;
    out.divergence = 1 / n;
  } else {
    // Around the outcome of the row not seen, whose own term is zero then: however large its control, nothing cancels.
    const double mean_c = (n * rows.mean_control + control) / all;
    const double mean = n * (mean_e - away * rows.mean_control) / all;
    const double variance_c = (squares + control * control) / all - mean_c * mean_c;
    const double covariance = -away * squares / all - mean_c * mean;
    const double variance = (squares_e + away * away * squares) / all - mean * mean;
    const double lacking = rows.known_mean - mean_c;
    // Controls that do not vary say nothing, unless they contradict their known mean.
    constexpr double kRounding = 1e-14;
    if (!(variance_c > kRounding * (squares + control * control) / all)) {
      const bool agree = std::abs(lacking) < 1e-7 * std::max(1.0, std::abs(rows.known_mean));
      out = {mean, variance, agree ? 0 : std::numeric_limits<double>::infinity()};
    } else {
      out.value = mean + covariance / variance_c * lacking;
      out.variance = variance - covariance * (covariance / variance_c);
      out.divergence = lacking * lacking / variance_c;
    }
    out.value += away * rows.known_mean;
  }
  if (!std::isfinite(squares) || !std::isfinite(out.variance)) out.variance = std::numeric_limits<double>::quiet_NaN();
  if (out.variance < 0) out.variance = 0;  // by rounding alone
  out.value += centre * rows.known_mean;
  return out;
}

}  // namespace

LikelihoodInterval cressie_read(const ControlledMoments& rows, const OutcomeRange& outcome, double level) {
  const double controls[] = {rows.lowest_control, rows.highest_control};
  const double middle = outcome.low + (outcome.high - outcome.low) / 2;
  // Only a row on the other side of the known mean brings the rows' own mean there by being added.
  const Nearest best =
      nearest(rows, rows.mean_control < rows.known_mean ? rows.highest_control : rows.lowest_control, middle);
  const double quantile = student_upper_quantile((1 - level) / 2, rows.rows);
  const double radius = best.divergence + quantile * quantile / (rows.rows + 1);

  LikelihoodInterval out;
  out.value = best.value;
  out.standard_error = std::sqrt(best.variance / rows.rows);
  out.low = out.high = best.value;
  for (const double control : controls) {
    // A row with a negative control makes the mean small by a large outcome.
    const double least = control < 0 ? outcome.high : outcome.low, most = control < 0 ? outcome.low : outcome.high;
    for (const bool upper : {false, true}) {
      const Nearest at = nearest(rows, control, upper ? most : least);
      if (!(at.divergence <= radius)) continue;
      const double half = std::sqrt(at.variance * (radius - at.divergence));
      if (upper && !(at.value + half <= out.high)) out.high = at.value + half;
      if (!upper && !(at.value - half >= out.low)) out.low = at.value - half;
    }
  }
  // A policy's value lies within the range of outcomes, and a difference of two within its width.
  const double width = outcome.high - outcome.low;
  const double lowest = rows.known_mean == 0 ? -width : outcome.low,
               highest = rows.known_mean == 0 ? width : outcome.high;
  out.value = std::clamp(out.value, lowest, highest);
  if (std::isfinite(out.low)) out.low = std::clamp(out.low, lowest, highest);
  if (std::isfinite(out.high)) out.high = std::clamp(out.high, lowest, highest);
  return out;
}

}  // namespace scrm
