/// RidgeSystem: what all solvers of kernel ridge have in common, as seen by queries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "regression/gaussian_expansion.hpp"
#include "scrm/engine/kernel_ridge.hpp"

namespace scrm {

/// A state becomes a column of `dimension()` numbers, its basis; the mean is weights() · basis.
class RidgeSystem {
 public:
  virtual ~RidgeSystem() = default;

  /// A batch; afterwards queries see it.
  virtual void add(std::span<const double> states, std::span<const double> y) = 0;

  virtual std::int64_t dimension() const = 0;
  virtual const std::vector<double>& weights() const = 0;
  virtual void basis(const double* states, int n, double* out) const = 0;
  /// width² of n states out of their basis, which is overwritten. λ > 0 only.
  virtual void squares(const double* states, int n, double* basis, double* out) const = 0;

  // Linear and polynomial kernels, along the state's last number t.
  /// power() + 1 columns a context: the basis of (x, t) is Σ_q t^q column q.
  virtual void power_basis(const double* /*contexts*/, int /*n*/, double* /*out*/) const {}
  /// 2 power() + 1 coefficients of width² a context, out of its columns, which are overwritten. λ > 0 only.
  virtual void power_squares(const double* /*contexts*/, int /*n*/, double* /*basis*/, double* /*out*/) const {}

  /// Gaussian kernel: the mean as a sum over states.
  virtual GaussianExpansion expansion() const { return {}; }
  /// Bits: the mean is Σ_k (1, a)_k Σ_j (1, x)_j out[k (1 + features) + j].
  virtual std::vector<double> bit_weights() const { return {}; }

  virtual double trace_error() const { return 0; }
  virtual std::size_t bytes() const = 0;
};

/// out[m] += factor Σ_{i + j = m} v_i · v_j, group by group.
void add_products(const double* columns, std::int64_t dimension, int count, int group, double factor, double* out);

/// k(s, s)/λ, of n states or, as power_squares has it, along the last number of n contexts.
void prior_squares(const KernelRidgeOptions& options, const double* states, int n, double* out);
void prior_power_squares(const KernelRidgeOptions& options, const double* contexts, int n, double* out);

/// Σ_i c_i (1, a_i) ⊗ (1, x_i).
std::vector<double> sum_bit_weights(const StateKernel& kernel, std::span<const double> states,
                                    std::span<const double> coefficients);

std::unique_ptr<RidgeSystem> make_primal(const KernelRidgeOptions& options);
std::unique_ptr<RidgeSystem> make_dual(const KernelRidgeOptions& options);
/// Bits kernel and λ > 0.
std::unique_ptr<RidgeSystem> make_iterative(const KernelRidgeOptions& options);
/// Nyström, for kernels that are no polynomial of the action and for those that are.
std::unique_ptr<RidgeSystem> make_nystroem(const KernelRidgeOptions& options);
std::unique_ptr<RidgeSystem> make_powers(const KernelRidgeOptions& options);

std::size_t dual_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept;
std::size_t iterative_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept;
std::size_t nystroem_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept;
std::size_t powers_bytes_needed(const KernelRidgeOptions& options, std::int64_t rows) noexcept;
/// Features of make_powers at most.
std::int64_t powers_dimension(const KernelRidgeOptions& options) noexcept;

}  // namespace scrm
