/// InducingPoints: states picked out of many so that their kernel values tell most about all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scrm/engine/kernel_state.hpp"

namespace scrm {

/// φ(s) = L⁻¹k(Z, s) over the points Z, LLᵀ = K_ZZ, so that φ(s)·φ(s') is the kernel as far as Z knows it.
class InducingPoints {
 public:
  /// At most `most` of them.
  InducingPoints(const StateKernel& kernel, std::int64_t most);

  /// Offers rows, of which at most max(2048, 4 · most) are looked at, in even steps. The one with the largest residual
  /// k(s, s) − |φ(s)|² becomes a point, again and again, until there are as many as there may be, or residuals average
  /// to at most tolerance · min(noise, mean k(s, s)) (noise 0: of the latter), or none exceeds 1e-13 of the largest
  /// k(s, s), which is rounding. Whether any row was taken.
  bool extend(std::span<const double> states, std::int64_t rows, double tolerance, double noise);

  std::int64_t count() const noexcept { return count_; }
  const std::vector<double>& states() const noexcept { return states_; }

  /// φ of n states, one column of count() numbers each, `leading` apart.
  void fill(const double* states, int n, double* out, std::int64_t leading) const;
  /// v becomes L⁻ᵀv: weights of φ become weights of k(Z, ·).
  void to_kernel_weights(std::vector<double>& v) const;

  std::size_t bytes() const noexcept;
  /// With what extend takes while it works on `rows` rows.
  static double bytes_needed(std::int64_t width, std::int64_t most, std::int64_t rows) noexcept;

 private:
  struct Offer;
  Offer offer(std::span<const double> states, std::int64_t rows) const;
  void take(Offer& offered, std::int64_t chosen);

  StateKernel kernel_;
  std::int64_t most_, count_ = 0;
  std::vector<double> states_;
  std::vector<double> root_;  // L, most × most from the start, so that its rows stay where they are
};

}  // namespace scrm
