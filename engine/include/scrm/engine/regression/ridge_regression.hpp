/// Ridge regression with an intercept, its penalty chosen by exact leave-one-out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace scrm {

struct RidgeModel {
  std::vector<double> beta;  ///< intercept first, then a coefficient a feature
  double penalty = 0;        ///< the candidate that was chosen
  /// A candidate, in the order given: mean of (y_i − prediction of the fit without row i)². Infinite where a row's fit
  /// without it is not determined (one row; no penalty and at most as many rows as coefficients).
  std::vector<double> leave_one_out;

  double predict(std::span<const double> x) const noexcept;
};

/// Minimises Σ_i (y_i − β₀ − β·x_i)² + penalty |β|², the intercept left out of the penalty, for the candidate with the
/// smallest leave-one-out error (the first of equals). All candidates share one singular value decomposition UΣVᵀ of
/// the centred rows: residuals without row i are (y_i − ŷ_i)/(1 − h_ii), h the diagonal of 11ᵀ/n + U Σ²/(Σ² + penalty)
/// Uᵀ. A penalty of zero gives the solution of least norm. `x` is row-major [y.size(), features]. Throws Error without
/// rows or candidates, for negative penalties and for numbers that are not finite.
RidgeModel fit_ridge(std::span<const double> x, std::int64_t features, std::span<const double> y,
                     std::span<const double> penalties);

}  // namespace scrm
