/// Units of 2^exponent for weights that cannot be squared as they are.
#pragma once

#include <cmath>

#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

// Weights between 2^-300 and 2^300 can be squared and multiplied by any sensible loss without leaving the doubles;
// others are summed in units of 2^exponent.
inline constexpr int kSafeExponent = 300;
inline constexpr double kSafeWeight = 0x1p300;

/// For a weight of no sign.
inline int unit_exponent(double weight) noexcept {
  static_assert(kSafeExponent == 300);
  if ((weight >= 1 / kSafeWeight && weight < kSafeWeight) || weight == 0 || !std::isfinite(weight)) return 0;
  const int exponent = std::ilogb(weight);
  return exponent > kSafeExponent || exponent < -kSafeExponent ? exponent : 0;
}

/// The weight in units of 2^exponent; nearly all are in units of one.
inline double in_units(double weight, int exponent) noexcept {
  return exponent == 0 ? weight : std::ldexp(weight, -exponent);
}

/// w y in a unit of its own where w is far from one. The weight may have a sign.
inline Moments weighted_value(double weight, double value) noexcept {
  const int exponent = unit_exponent(std::abs(weight));
  return Moments::of(in_units(weight, exponent) * value, exponent);
}

}  // namespace scrm
