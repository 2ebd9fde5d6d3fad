/// ActionRegression: how far the contexts explain which continuous actions were logged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scrm/engine/pass/pass.hpp"
#include "scrm/engine/pass/row_mask.hpp"
#include "scrm/engine/pass/source.hpp"
#include "scrm/engine/policy/policy_kind.hpp"

namespace scrm {

/// Least squares of the scores that centre a policy at the logged actions (a itself, or log a) on (1, x).
struct ActionRegression {
  std::vector<double> theta;   ///< intercept first
  double spread = 0;           ///< of the centres: their standard deviation
  double residual_spread = 0;  ///< of what the regression leaves, by rows less parameters

  /// Share of the variance that it explains.
  double explained() const noexcept {
    const double left = residual_spread / spread;
    return 1 - left * left;
  }
  /// Whether it leaves less than half of the variance, and more than rounding does. With more explained the weights of
  /// a policy of one mean have no variance, however small its scale.
  bool explains_most() const noexcept {
    constexpr double kMost = 0.5, kRounding = 1e-5;
    return explained() > kMost && residual_spread > kRounding * spread;
  }
};

/// On the first `features` columns of the context, over the rows that `training` keeps (null: all), in one pass; many
/// rows are asked by a sample first. Features that never vary get 0; of those that depend on each other, the
/// coefficients that are least by Σ_j E[x_j²] θ_j². Nothing where it does not explain most of the actions, or that
/// cannot be told: without features, with more than 1,024 or more than fit the memory, or with about as many as rows.
std::optional<ActionRegression> explaining_regression(Source& source, const PolicyKindDefinition& kind,
                                                      std::int64_t features, const RowMask* training,
                                                      const PassOptions& pass);

}  // namespace scrm
