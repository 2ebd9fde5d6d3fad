#include "estimate/intervals/sequence.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "estimate/intervals/quantiles.hpp"
#include "scrm/kernels/weights/weight_sums.hpp"

namespace scrm {
namespace {

/// The first row of epochs 0, 1, 2, 3, …: 0, 1, 2, 4, …
std::size_t epoch_of(std::int64_t row) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(row)));
}

// ρ of the gamma priors, in units of reach²: each is best when V is about ten times that.
constexpr double kPriors[] = {1, 16, 256, 4096, 65536};

/// ln of the integral over λ of exp(λ s − ψ(λ) v), ψ(λ) = −ln(1 − λ) − λ, in which 1 − λ has a gamma prior of parameter
/// ρ cut off at one: a martingale's bound in units of reach.
double log_mixture(double s, double v, double rho) {
  const double prior = rho * std::log(rho) - std::lgamma(rho) - log_gamma_probability(rho, rho);
  const double shape = v + rho, rate = s + v + rho;
  return prior + std::lgamma(shape) + log_gamma_probability(shape, rate) - shape * std::log(rate) + s + v;
}

/// ln of the mean of the mixtures.
double log_mixtures(double s, double v) {
  double largest = -std::numeric_limits<double>::infinity();
  double logs[std::size(kPriors)];
  for (std::size_t p = 0; p < std::size(kPriors); ++p)
    largest = std::max(largest, logs[p] = log_mixture(s, v, kPriors[p]));
  double sum = 0;
  for (const double one : logs) sum += std::exp(one - largest);
  return largest + std::log(sum / static_cast<double>(std::size(kPriors)));
}

/// The s at which the mixtures reach 1/δ.
double boundary(double v, double delta) {
  const double target = -std::log(delta);
  double low = 0, high = 1;
  while (log_mixtures(high, v) < target) high *= 2;
  for (int step = 0; step < 100; ++step) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (log_mixtures(middle, v) < target ? low : high) = middle;
  }
  return high;
}

}  // namespace

void EpochMoments::add(std::int64_t first_row, const double* terms, int rows) {
  for (int i = 0; i < rows;) {
    const std::size_t epoch = epoch_of(first_row + i);
    const std::int64_t end = epoch == 0 ? 1 : std::int64_t{1} << epoch;  // where the next begins
    const int count = static_cast<int>(std::min<std::int64_t>(rows - i, end - (first_row + i)));
    if (epochs.size() <= epoch) epochs.resize(epoch + 1);
    epochs[epoch].merge(column_moments(terms + i, count));
    i += count;
  }
}

void EpochMoments::merge(const EpochMoments& later) {
  if (epochs.size() < later.epochs.size()) epochs.resize(later.epochs.size());
  for (std::size_t e = 0; e < later.epochs.size(); ++e) epochs[e].merge(later.epochs[e]);
}

double bounded_sequence_half_width(const EpochMoments& terms, const TermBounds& bounds, double level) {
  const double reach = bounds.term + bounds.mean;  // of a term from the mean that was expected
  double variance = 0;
  Moments before;
  for (const Moments& epoch : terms.epochs) {
    if (epoch.count == 0) continue;
    const double expected = before.count > 0 ? std::clamp(before.mean, -bounds.mean, bounds.mean) : 0.0;
    const double away = epoch.mean - expected;
    variance += epoch.square_sum + epoch.count * away * away;
    before.merge(epoch);
  }
  const double unit = variance / reach / reach;
  if (!std::isfinite(unit)) return std::numeric_limits<double>::quiet_NaN();
  return reach * boundary(unit, (1 - level) / 2) / before.count;
}

double asymptotic_sequence_half_width(double standard_error, double rows, double level) {
  // Narrowest at ten thousand rows, where n ρ² = 10.
  constexpr double kRhoSquared = 1e-3;
  const double nr = rows * kRhoSquared;
  return standard_error * std::sqrt((1 + 1 / nr) * (std::log1p(nr) - 2 * std::log(1 - level)));
}

}  // namespace scrm
