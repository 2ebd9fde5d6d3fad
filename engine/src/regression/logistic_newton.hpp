/// LogisticNewton: Newton's method for one label's ridge-penalised logistic regression, from any start, for any c.
#pragma once

#include <cstdint>
#include <vector>

#include "regression/design_matrix.hpp"

namespace scrm {

/// Minimises F(β) = [Σ_i log(1 + exp(−s_i β·(1, x_i)))]/N + |β|²/(2 c N) over the N rows in use, s_i = ±1, the
/// intercept left out of the ridge. Newton steps are solved by conjugate gradients, preconditioned where the matrix is
/// small enough by a Cholesky factor of the Hessian of an earlier step, which serves as long as few iterations suffice:
/// along a path of c that is most of the time.
class LogisticNewton {
 public:
  /// `use` has a 0 for rows that are left out of the fit (their scores are still computed). Keeps references.
  LogisticNewton(const DesignMatrix& x, const std::vector<std::uint8_t>& label, const std::vector<std::uint8_t>& use);

  /// Goes on from the last solution, at first from zero, until no entry of the gradient exceeds the tolerance.
  void solve(double c, int max_iterations, double tolerance);

  const std::vector<double>& beta() const noexcept { return beta_; }
  /// β·(1, x_i) of all rows, those left out too.
  const std::vector<double>& scores() const noexcept { return scores_; }

 private:
  double value_at(double step);
  void differentiate();
  void newton_direction(double tolerance);
  void factorise();
  bool conjugate_gradients(int limit, double target);
  void precondition(const std::vector<double>& r, std::vector<double>& z) const;
  void hessian_times(const std::vector<double>& v, std::vector<double>& out);
  bool line_search();

  const DesignMatrix& x_;
  const std::vector<std::uint8_t>& label_;
  const std::vector<std::uint8_t>& use_;
  double used_rows_ = 0;
  double ridge_ = 0;  // 1/(c N)
  bool direct_;       // the Hessian is formed and factorised

  std::vector<double> beta_, scores_, gradient_, direction_, direction_scores_;
  std::vector<double> residual_, curvature_;  // a row: (p − y)/N and p(1 − p)/N
  std::vector<double> row_work_, row_work2_, cg_residual_, cg_z_, cg_p_, cg_q_;
  std::vector<double> data_hessian_, factor_;  // without and with the ridge; the diagonal alone when not direct_
  double factored_ridge_ = -1;
};

}  // namespace scrm
