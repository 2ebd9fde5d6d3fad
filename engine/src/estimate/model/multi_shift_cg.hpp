/// MultiShiftCg: ridge regressions with every penalty of a grid, by conjugate gradients.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace scrm {

// Penalties, in rows that say zero, half a decade apart. The least decides how fast all of them converge.
inline constexpr int kPenalties = 12;
inline constexpr double kLeastPenalty = 1;
double penalty_at(int step);

/// (A + λ) ψ = b for every λ of the grid at once (multi-shift conjugate gradients): the steps of the least λ span the
/// space in which all others have theirs.
class MultiShiftCg {
 public:
  using Vector = std::vector<double>;

  explicit MultiShiftCg(const Vector& b);

  bool done() const;
  const Vector& direction() const { return direction_; }
  const std::vector<Vector>& solutions() const { return solutions_; }

  /// `product` is A times the direction.
  void step(const Vector& product);

 private:
  Vector residual_, direction_;
  std::vector<Vector> solutions_, directions_;
  std::array<double, kPenalties> zeta_before_ = ones(), zeta_now_ = ones();
  double alpha_ = 1, beta_ = 0;
  double square_, goal_;
  int steps_ = 0;

  static std::array<double, kPenalties> ones() {
    std::array<double, kPenalties> out;
    out.fill(1);
    return out;
  }
};

}  // namespace scrm
