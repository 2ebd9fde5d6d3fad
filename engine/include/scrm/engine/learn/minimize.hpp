/// minimize: L-BFGS and L-BFGS-B that always end with a status and the best point found.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scrm {

struct MinimizeOptions {
  int max_iterations = 500;
  double tolerance = 1e-8;  ///< on the norm of the (projected) gradient
  /// Also stop when an iteration lowers the value by less than this share of max(1, |value|); 0: never, or in a
  /// box 1e-10.
  double relative_decrease = 0;
  int history = 10;
  std::optional<std::pair<double, double>> bound;  ///< the same box for every coordinate
  std::size_t unbounded = 0;                       ///< but for so many, the last ones
};

enum class MinimizeStatus {
  converged,        ///< the gradient is below the tolerance, or the line search cannot make progress any more
  iteration_limit,  ///< max_iterations
  zero_gradient,    ///< the gradient is exactly zero at the start
  line_search,      ///< no step gives a sufficient decrease although the gradient is not small
  unbounded,        ///< the objective fell without end
};

/// A sentence part, such as "converged".
const char* to_string(MinimizeStatus status) noexcept;

struct MinimizeResult {
  std::vector<double> point;  ///< the best point found
  double value = 0;
  double gradient_norm = 0;  ///< at that point; projected on the box where there is one
  int iterations = 0;
  int evaluations = 0;
  MinimizeStatus status = MinimizeStatus::converged;
};

/// Value at a point; fills the gradient.
using DifferentiableFunction = std::function<double(const std::vector<double>& point, std::vector<double>& gradient)>;

/// Minimises from `start`, which must lie inside the bound. Exceptions of the function pass through.
MinimizeResult minimize(const DifferentiableFunction& function, const std::vector<double>& start,
                        const MinimizeOptions& options);

}  // namespace scrm
