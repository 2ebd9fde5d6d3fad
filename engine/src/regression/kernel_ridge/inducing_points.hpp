/// InducingPoints: states picked out of many so that their kernel values tell most about all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "regression/kernel_ridge/kernel_values.hpp"

namespace scrm {

/// φ(s) = L⁻¹k(Z, s) over the points Z, LLᵀ = K_ZZ, so that φ(s)·φ(s') is the kernel as far as Z knows it.
class InducingPoints {
 public:
  /// At most `most` of them; without a number, every state that differs from the points before it.
  InducingPoints(const StateKernel& kernel, std::optional<std::int64_t> most) : kernel_(kernel), most_(most) {}

  /// Offers states, of which at most max(2048, 4 · most) are looked at, in even steps. The one with the largest
  /// residual k(s, s) − |φ(s)|² becomes a point, again and again, until there are as many as there may be, or residuals
  /// average to at most tolerance · min(noise, mean k(s, s)) (noise 0: of the latter; every state to be a point: 0), or
  /// none exceeds 1e-13 of the largest k(s, s), which is rounding. Whether any state
  /// was taken.
  bool extend(const States& states, double tolerance, double noise);

  std::int64_t count() const noexcept { return count_; }
  auto states() const { return points_.leftCols(count_); }

  /// φ of every state, a column each.
  void fill(const States& states, Columns out) const;
  /// L⁻ᵀv: weights of φ become weights of k(Z, ·).
  Eigen::VectorXd kernel_weights(Eigen::VectorXd v) const;

  /// With what extend takes while it works on `rows` states.
  static double bytes_needed(std::int64_t state_size, std::optional<std::int64_t> most, std::int64_t rows) noexcept;

 private:
  struct Offer;
  Offer make_offer(const States& states) const;
  void take(Offer& offer, const std::vector<Eigen::Index>& chosen);
  auto root() const { return root_.topLeftCorner(count_, count_); }

  StateKernel kernel_;
  std::optional<std::int64_t> most_;
  std::int64_t count_ = 0;
  // Room for more than there are, while points are taken.
  Eigen::MatrixXd points_;
  Eigen::MatrixXd root_;  // L
};

}  // namespace scrm
