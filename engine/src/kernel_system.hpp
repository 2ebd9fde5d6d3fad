/// RidgeSystem: what primal, dual and Nyström kernel ridge have in common, as seen by queries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scrm/engine/kernel_ridge.hpp"

namespace scrm {

/// A state becomes a column of `dimension()` numbers, its basis; the mean is weights() · basis, and width² is a
/// quadratic form of the basis, plus k(s, s)/λ where has_prior().
class RidgeSystem {
 public:
  virtual ~RidgeSystem() = default;

  /// A batch; afterwards queries see it.
  virtual void add(std::span<const double> states, std::span<const double> y) = 0;

  virtual std::int64_t dimension() const = 0;
  virtual const std::vector<double>& weights() const = 0;
  virtual void basis(const double* states, int n, double* out) const = 0;
  /// power() + 1 columns a context: the basis of (x, t) is Σ_q t^q column q.
  virtual void power_basis(const double* contexts, int n, double* out) const = 0;

  virtual bool has_prior() const = 0;
  /// The quadratic form of columns taken `group` at a time, v_0 … v_{g−1}: 2g − 1 numbers a group, number m the sum of
  /// form(v_i, v_j) over i + j = m. Overwrites the columns. λ > 0 only.
  virtual void forms(double* columns, int count, int group, double* out) const = 0;

  /// Bits: the mean is Σ_k (1, a)_k Σ_j (1, x)_j out[k (1 + features) + j].
  virtual std::vector<double> bit_weights() const = 0;

  virtual double trace_error() const { return 0; }
  virtual std::size_t bytes() const = 0;
};

/// out[m] += factor Σ_{i + j = m} v_i · v_j, group by group.
void add_products(const double* columns, std::int64_t dimension, int count, int group, double factor, double* out);

/// Σ_i c_i (1, a_i) ⊗ (1, x_i).
std::vector<double> sum_bit_weights(const StateKernel& kernel, std::span<const double> states,
                                    std::span<const double> coefficients);

std::unique_ptr<RidgeSystem> make_primal(const KernelRidgeOptions& options);
std::unique_ptr<RidgeSystem> make_dual(const KernelRidgeOptions& options);
std::unique_ptr<RidgeSystem> make_nystroem(const KernelRidgeOptions& options);

std::size_t dual_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept;
std::size_t nystroem_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept;

}  // namespace scrm
