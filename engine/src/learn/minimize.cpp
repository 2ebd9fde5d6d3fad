#include "scrm/engine/minimize.hpp"

#include <LBFGS.h>
#include <LBFGSB.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "learn/line_search.hpp"

namespace scrm {
namespace {

// Below this an objective that averages losses has run away, not improved.
constexpr double kUnboundedValue = -1e30;
// A line search that fails this close to a stationary point has met the end of double precision, not a problem.
constexpr double kNearlyStationary = 1e-5;

/// Ends the search from inside the line search.
struct UnboundedBelow {};

/// What the library calls: counts, remembers the best point, and keeps values that are no numbers out of the search.
class SearchRecorder {
 public:
  SearchRecorder(const DifferentiableFunction& function, const MinimizeOptions& options)
      : function_(function), options_(options) {}

  double operator()(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
    const std::vector<double> point(x.data(), x.data() + x.size());
    std::vector<double> slope(point.size());
    double value = function_(point, slope);
    ++result.evaluations;
    const bool finite =
        std::isfinite(value) && std::all_of(slope.begin(), slope.end(), [](double g) { return std::isfinite(g); });
    if (!finite) {
      // A wall with a slope that leads back: the line search shortens its step.
      value = std::numeric_limits<double>::max() / 1e10;
      std::fill(slope.begin(), slope.end(), 0.0);
    } else if (result.point.empty() || value < result.value) {
      result.point = point;
      result.value = value;
      result.gradient_norm = projected_norm(point, slope);
      ++improvements;
      if (value < kUnboundedValue) throw UnboundedBelow{};
    }
    gradient = Eigen::Map<const Eigen::VectorXd>(slope.data(), static_cast<Eigen::Index>(slope.size()));
    return value;
  }

  MinimizeResult result;
  int improvements = 0;

 private:
  /// Norm of x − clamp(x − g): what is left of the gradient where the box does not stop it.
  double projected_norm(const std::vector<double>& point, const std::vector<double>& slope) const {
    double sum = 0;
    for (std::size_t j = 0; j < point.size(); ++j) {
      double step = slope[j];
      if (options_.bound)
        step = point[j] - std::clamp(point[j] - slope[j], options_.bound->first, options_.bound->second);
      sum += step * step;
    }
    return std::sqrt(sum);
  }

  const DifferentiableFunction& function_;
  const MinimizeOptions& options_;
};

template <class Param>
Param parameters(const MinimizeOptions& options) {
  Param param;
  param.m = options.history;
  param.epsilon = options.tolerance;
  param.epsilon_rel = 0;
  param.max_iterations = options.max_iterations;
  if (options.relative_decrease > 0) {
    param.past = 1;
    param.delta = options.relative_decrease;
  }
  param.max_linesearch = 60;
  return param;
}

int search(SearchRecorder& recorder, Eigen::VectorXd& x, const MinimizeOptions& options) {
  double value = 0;
  if (!options.bound) {
    auto param = parameters<LBFGSpp::LBFGSParam<double>>(options);
    param.linesearch = LBFGSpp::LBFGS_LINESEARCH_BACKTRACKING_STRONG_WOLFE;
    LBFGSpp::LBFGSSolver<double, WolfeLineSearch> solver(param);
    return solver.minimize(recorder, x, value);
  }
  const auto param = parameters<LBFGSpp::LBFGSBParam<double>>(options);
  LBFGSpp::LBFGSBSolver<double> solver(param);
  const Eigen::VectorXd low = Eigen::VectorXd::Constant(x.size(), options.bound->first);
  const Eigen::VectorXd high = Eigen::VectorXd::Constant(x.size(), options.bound->second);
  return solver.minimize(recorder, x, value, low, high);
}

}  // namespace

const char* to_string(MinimizeStatus status) noexcept {
  switch (status) {
    case MinimizeStatus::converged:
      return "converged";
    case MinimizeStatus::iteration_limit:
      return "stopped at the iteration limit";
    case MinimizeStatus::zero_gradient:
      return "stopped at the start, where the gradient is zero";
    case MinimizeStatus::line_search:
      return "stopped where no step lowers the objective";
    case MinimizeStatus::unbounded:
      return "stopped because the objective falls without end";
  }
  return "";
}

MinimizeResult minimize(const DifferentiableFunction& function, std::vector<double> start,
                        const MinimizeOptions& options) {
  SearchRecorder recorder(function, options);
  Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(start.data(), static_cast<Eigen::Index>(start.size()));
  MinimizeResult& result = recorder.result;
  try {
    result.iterations = search(recorder, x, options);
    result.status = result.iterations >= options.max_iterations && result.gradient_norm > options.tolerance
                        ? MinimizeStatus::iteration_limit
                        : MinimizeStatus::converged;
    if (result.evaluations == 1 && result.gradient_norm == 0) result.status = MinimizeStatus::zero_gradient;
  } catch (const UnboundedBelow&) {
    result.status = MinimizeStatus::unbounded;
  } catch (const std::logic_error&) {
    // The library's word for a direction that leads uphill: rounding has taken over.
    result.status = MinimizeStatus::line_search;
  } catch (const std::runtime_error& error) {
    // Errors of the function itself are not the search's: only the library throws plain runtime errors.
    if (typeid(error) != typeid(std::runtime_error)) throw;
    result.status = MinimizeStatus::line_search;
  }
  // A search that was cut short does not say how far it came: every step but the start's was an improvement.
  if (result.iterations == 0) result.iterations = std::max(0, recorder.improvements - 1);
  if (result.status == MinimizeStatus::line_search && result.gradient_norm < kNearlyStationary) {
    result.status = MinimizeStatus::converged;
  }
  if (result.point.empty()) {
    // Not even the start has a value.
    result.point = std::move(start);
    result.value = std::numeric_limits<double>::quiet_NaN();
    result.status = MinimizeStatus::line_search;
  }
  return result;
}

}  // namespace scrm
