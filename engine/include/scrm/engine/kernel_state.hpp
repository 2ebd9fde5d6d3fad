/// StateKernel: how alike two states (context, action) are, block by block, and the feature map behind it where finite.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace scrm {

enum class KernelKind {
  linear,      ///< s·s' + 1
  polynomial,  ///< (s·s' + 1)^degree
  gaussian,    ///< exp(−|s − s'|²/(2 length²))
  bits,        ///< (x·x' + 1)(a·a' + 1): the labels share nothing but the context
};

/// A state is one row: `features` numbers of the context, then `actions` numbers of the action.
struct StateKernel {
  KernelKind kind = KernelKind::linear;
  std::int64_t features = 0;
  std::int64_t actions = 1;  ///< 1, or as many as there are bits
  int degree = 2;            ///< polynomial
  double length = 0.1;       ///< gaussian

  std::int64_t width() const noexcept { return features + actions; }
  /// Degree of k(s, ·) as a polynomial in the state's last number; 0 for kernels that are none.
  int power() const noexcept;
};

/// Throws Error (usage) for a kernel that cannot be: no numbers in a state, a degree below 1, a length that is not
/// positive.
void check(const StateKernel& kernel);

/// out[i + j·leading] = k(a_i, b_j) for rows a (na states) and b (nb states), by matrix products. Gaussian distances
/// are taken around the first state of `a`, so that states far from zero keep their digits.
void kernel_block(const StateKernel& kernel, const double* a, int na, const double* b, int nb, double* out,
                  std::int64_t leading);

/// out[i] = k(s_i, s_i).
void kernel_diagonal(const StateKernel& kernel, const double* states, int n, double* out);

/// k(a_i, (x_j, t)) = Σ_q t^q out[i + (j (p + 1) + q)·leading] for linear and polynomial kernels, p = power(): contexts
/// x have width() − 1 numbers, t is the state's last.
void kernel_power_block(const StateKernel& kernel, const double* a, int na, const double* contexts, int nb, double* out,
                        std::int64_t leading);

/// k((x_j, t), (x_j, t)) = Σ_q t^q out[j (2p + 1) + q].
void kernel_power_diagonal(const StateKernel& kernel, const double* contexts, int n, double* out);

/// Length of φ with k(s, s') = φ(s)·φ(s'); none for the gaussian kernel. Saturates at the largest integer.
std::optional<std::int64_t> feature_dimension(const StateKernel& kernel);

/// φ itself. Linear and polynomial: all monomials of degree at most p with the square roots of their multinomial
/// weights, ordered by the power of the state's last number. Bits: (1, a) ⊗ (1, x).
class StateFeatures {
 public:
  /// Throws Error (usage) where φ is not finite.
  explicit StateFeatures(const StateKernel& kernel);

  std::int64_t dimension() const noexcept { return dimension_; }
  std::size_t bytes() const noexcept;

  /// One column of dimension() numbers a state.
  void fill(const double* states, int n, double* out) const;
  /// φ(x_j, t) = Σ_q t^q column j (p + 1) + q, as in kernel_power_block.
  void fill_powers(const double* contexts, int n, double* out) const;
  /// Where the features with power q of the state's last number begin; column q of fill_powers is zero before.
  std::int64_t power_begin(int q) const noexcept;

 private:
  void fill_monomials(const double* context, double* out) const;

  StateKernel kernel_;
  std::int64_t dimension_ = 0;
  // Monomials of the state without its last number, by degree: each is an earlier one times a variable.
  std::vector<std::int32_t> parent_, variable_;
  std::vector<std::int64_t> up_to_degree_;    // monomials of degree at most q
  std::vector<std::vector<double>> weights_;  // of power q of the last number, a monomial of degree at most p − q each
};

}  // namespace scrm
