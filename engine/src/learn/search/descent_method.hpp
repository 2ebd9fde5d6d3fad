/// DescentMethod: what L-BFGS and L-BFGS-B do between two evaluations of the objective.
#pragma once

#include <Eigen/Core>
#include <memory>

#include "scrm/engine/learn/minimize.hpp"

namespace scrm {

/// A point with its value and gradient. While a line search is under way, `x` is the point to evaluate.
struct Iterate {
  Eigen::VectorXd x, gradient;
  double value = 0;
};

/// Directions and line searches. Functions throw std::logic_error or std::runtime_error where rounding has taken over
/// and no step lowers the objective.
class DescentMethod {
 public:
  explicit DescentMethod(Eigen::VectorXd start) : now{std::move(start), {}, 0} {}
  virtual ~DescentMethod() = default;

  /// Norm of the gradient that the tolerance is compared with.
  virtual double gradient_norm() const = 0;
  /// Takes the first direction from the start, once it has been evaluated, and its first step. Also where another
  /// objective takes over, with the curvature of the last.
  virtual void begin() = 0;
  /// After an evaluation: true when the line search ends here, otherwise `now.x` is the next point to try.
  virtual bool line_search_ends() = 0;
  /// Takes the next direction from where the line search ended, and its first step.
  virtual void next_direction() = 0;

  Iterate now;
};

/// L-BFGS with our Wolfe line search; where there is a bound, L-BFGS-B with that of Moré and Thuente.
std::unique_ptr<DescentMethod> make_descent_method(const std::vector<double>& start, const MinimizeOptions& options);

}  // namespace scrm
