/// Values of the state kernels, block by block, and the feature maps behind those that have finite ones.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "scrm/engine/regression/kernel_ridge.hpp"

namespace scrm {

/// States or contexts, one a column.
using States = Eigen::Ref<const Eigen::MatrixXd>;
using Columns = Eigen::Ref<Eigen::MatrixXd>;
using Responses = Eigen::Ref<const Eigen::VectorXd>;
using Answers = Eigen::Ref<Eigen::VectorXd>;

/// Throws Error (usage) for a kernel that cannot be: no numbers in a state, a degree below 1, a length that is not
/// positive.
void check(const StateKernel& kernel);

/// out(i, j) = k(a_i, b_j), by matrix products. Gaussian distances are taken around the first state of `a`, so that
/// states far from zero keep their digits.
void kernel_values(const StateKernel& kernel, const States& a, const States& b, Columns out);
/// k(s, s) of every state.
Eigen::VectorXd kernel_diagonal(const StateKernel& kernel, const States& states);

/// Length of φ with k(s, s') = φ(s)·φ(s'); none for the gaussian kernel. Saturates at the largest integer.
std::optional<std::int64_t> feature_dimension(const StateKernel& kernel);

/// φ itself. Linear and polynomial: all monomials of degree at most p, by degree, with the square roots of their
/// multinomial weights. Bits: (1, a) ⊗ (1, x).
class FiniteFeatures {
 public:
  /// Throws Error (usage) where φ is not finite.
  explicit FiniteFeatures(const StateKernel& kernel);

  std::int64_t dimension() const noexcept { return dimension_; }
  /// One column a state.
  void fill(const States& states, Columns out) const;

 private:
  StateKernel kernel_;
  std::int64_t dimension_ = 0;
  std::vector<std::int32_t> parent_, variable_;  // a monomial is an earlier one times a variable
  Eigen::VectorXd weights_;
};

/// (1, x) of every column x.
inline Eigen::MatrixXd with_ones(const States& columns) {
  Eigen::MatrixXd out(1 + columns.rows(), columns.cols());
  out.row(0).setOnes();
  out.bottomRows(columns.rows()) = columns;
  return out;
}

inline double integer_power(double base, int exponent) noexcept {
  double product = 1;
  for (int i = 0; i < exponent; ++i) product *= base;
  return product;
}

/// Every number to this power.
template <class Numbers>
Eigen::ArrayXd powers(const Numbers& numbers, int exponent) {
  return numbers.unaryExpr([exponent](double base) { return integer_power(base, exponent); });
}

}  // namespace scrm
