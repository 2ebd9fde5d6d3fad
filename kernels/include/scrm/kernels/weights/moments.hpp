/// Means and centred second moments that merge pairwise, safe from overflow at any size of weight.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace scrm {

/// Count, mean, centred square sum and range of a quantity, all in units of 2^exponent. Second moments are centred
/// before they are merged, never formed as E[x²] − E[x]².
struct Moments {
  double count = 0;
  double mean = 0;
  double square_sum = 0;  ///< Σ (x − mean)², in units of 4^exponent
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  int exponent = 0;

  /// One value.
  static Moments of(double value, int exponent = 0) noexcept { return {1, value, 0, value, value, exponent}; }

  /// The same numbers in units of 2^to, to ≥ exponent: parts too small to matter beside the new unit may vanish.
  void rescale(int to) noexcept {
    if (to == exponent) return;
    const int shift = exponent - to;
    mean = std::ldexp(mean, shift);
    square_sum = std::ldexp(square_sum, 2 * shift);
    lowest = std::ldexp(lowest, shift);
    highest = std::ldexp(highest, shift);
    exponent = to;
  }

  void merge(Moments other) noexcept {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    rescale(std::max(exponent, other.exponent));
    other.rescale(exponent);
    const double total = count + other.count;
    const double delta = other.mean - mean;
    // Of means that are further apart than any double, each takes its share.
    mean = std::isinf(delta) && std::isfinite(mean) && std::isfinite(other.mean)
               ? mean * (count / total) + other.mean * (other.count / total)
               : mean + delta * (other.count / total);
    square_sum += other.square_sum + delta * delta * (count * (other.count / total));
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
    count = total;
  }

  /// True mean; infinite when it is beyond a double.
  double true_mean() const noexcept { return std::ldexp(mean, exponent); }
  /// Sample standard deviation with n − 1; NaN below two values.
  double standard_deviation() const noexcept { return std::ldexp(std::sqrt(square_sum / (count - 1)), exponent); }
  /// Largest minus smallest value.
  double range() const noexcept { return count > 0 ? std::ldexp(highest - lowest, exponent) : 0.0; }
};

/// The mean of finite values, count ≥ 1, whose sum may be beyond a double.
template <class Value>
double mean_of_large(const Value* values, std::int64_t count) noexcept {
  // Around the first, so that equal values have no spread; halved, so that no difference overflows.
  const double half = static_cast<double>(values[0]) / 2;
  double rest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    rest += (static_cast<double>(values[i]) / 2 - half) / static_cast<double>(count);
  return 2 * (half + rest);
}

/// Moments of values whose mean is known.
template <class Value>
Moments moments_around(double mean, const Value* values, std::int64_t count) noexcept {
  Moments out;
  out.count = static_cast<double>(count);
  out.mean = mean;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    out.square_sum += (value - mean) * (value - mean);
    out.lowest = std::min(out.lowest, value);
    out.highest = std::max(out.highest, value);
  }
  return out;
}

/// The same for values that carry weights w²: Σw², the w²-weighted mean of y, and Σ w² (y − mean)². Weights are in
/// units of 2^exponent, values in their own.
struct SquareWeightedMoments {
  double weight = 0;
  double mean = 0;
  double square_sum = 0;
  int exponent = 0;

  void rescale(int to) noexcept {
    const int shift = 2 * (exponent - to);
    if (shift == 0) return;
    weight = std::ldexp(weight, shift);
    square_sum = std::ldexp(square_sum, shift);
    exponent = to;
  }

  void merge(SquareWeightedMoments other) noexcept {
    if (other.weight == 0) return;
    if (weight == 0) {
      *this = other;
      return;
    }
    rescale(std::max(exponent, other.exponent));
    other.rescale(exponent);
    if (other.weight == 0) return;
    const double total = weight + other.weight;
    const double delta = other.mean - mean;
    mean += delta * (other.weight / total);
    square_sum += other.square_sum + delta * delta * (weight * (other.weight / total));
    weight = total;
  }

  /// √(Σ w² (y − centre)²), in true units.
  double root_square_sum_around(double centre) const noexcept {
    const double shift = mean - centre;
    return std::ldexp(std::sqrt(square_sum + weight * shift * shift), exponent);
  }
};

/// Two quantities together: means, centred square sums, the centred product sum, and ranges.
struct PairMoments {
  double count = 0;
  double mean_a = 0, mean_b = 0;
  double aa = 0, bb = 0, ab = 0;
  double lowest_a = 0, highest_a = 0, lowest_b = 0, highest_b = 0;

  void merge(const PairMoments& other) noexcept {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count;
    const double share = other.count / total;
    const double da = other.mean_a - mean_a;
    const double db = other.mean_b - mean_b;
    aa += other.aa + da * da * (count * share);
    bb += other.bb + db * db * (count * share);
    ab += other.ab + da * db * (count * share);
    mean_a += da * share;
    mean_b += db * share;
    lowest_a = std::min(lowest_a, other.lowest_a);
    highest_a = std::max(highest_a, other.highest_a);
    lowest_b = std::min(lowest_b, other.lowest_b);
    highest_b = std::max(highest_b, other.highest_b);
    count = total;
  }
};

}  // namespace scrm
