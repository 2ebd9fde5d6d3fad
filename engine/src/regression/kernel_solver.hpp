/// KernelSolver: what the solvers of kernel ridge have in common, as queries see them.
#pragma once

#include <cstdint>
#include <memory>

#include "regression/kernel_values.hpp"

namespace scrm {

using Responses = Eigen::Ref<const Eigen::VectorXd>;
using Answers = Eigen::Ref<Eigen::VectorXd>;

/// A state becomes a column of dimension() features; the mean is weights() · features.
class KernelSolver {
 public:
  virtual ~KernelSolver() = default;

  /// A batch; afterwards queries see it.
  virtual void add(const States& states, const Responses& y) = 0;

  virtual std::int64_t dimension() const = 0;
  virtual const Eigen::VectorXd& weights() const = 0;
  virtual void fill_features(const States& states, Columns out) const = 0;
  /// width² out of states and their features, which are overwritten. λ > 0 only.
  virtual void squared_widths(const States& states, Columns features, Answers out) const = 0;

  /// Linear and polynomial kernels, p = power(): p + 1 coefficients of the mean and, λ > 0 only and where `squares` is
  /// not null, 2p + 1 of width² a context, along the state's last number.
  virtual void action_polynomials(const States& contexts, Columns means, Columns* squares) const = 0;
  /// Gaussian kernel: mean(x, a), one column a context and one row an action.
  virtual void grid_means(const States& contexts, const Responses& actions, Columns out) const = 0;
  /// Bits: the mean is (1, x)ᵀ M (1, a).
  virtual Eigen::MatrixXd bit_weights() const = 0;

  virtual double trace_error() const { return 0; }
  virtual std::size_t bytes() const = 0;
};

/// Primal and inducing points.
std::unique_ptr<KernelSolver> make_feature_ridge(const KernelRidgeOptions& options);
/// Held at most while adding up to `rows` rows.
double feature_ridge_bytes(const KernelRidgeOptions& options, std::int64_t rows);
/// Features at most.
std::int64_t feature_ridge_dimension(const KernelRidgeOptions& options, std::int64_t rows);

/// Bits kernel and λ > 0.
std::unique_ptr<KernelSolver> make_conjugate_gradient(const KernelRidgeOptions& options);
double conjugate_gradient_bytes(const KernelRidgeOptions& options, std::int64_t rows);

}  // namespace scrm
