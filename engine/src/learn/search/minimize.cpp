#include "scrm/engine/learn/minimize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "learn/search/minimizer.hpp"

namespace scrm {
namespace {

// Below this an objective that averages losses has run away, not improved.
constexpr double kUnboundedValue = -1e30;
// A line search that fails this close to a stationary point has met the end of double precision, not a problem.
constexpr double kNearlyStationary = 1e-5;
// In a box, an iteration that gains less than this is always the last.
constexpr double kLeastDecreaseInBox = 1e-10;
// What stands for a value that is no number: a wall with a slope that leads back, so that line searches shorten their
// step.
constexpr double kWall = std::numeric_limits<double>::max() / 1e10;

bool all_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

/// Norm of x − clamp(x − g): what is left of the gradient where the box does not stop it.
double projected_norm(const std::vector<double>& point, const std::vector<double>& gradient,
                      const MinimizeOptions& options) {
  double sum = 0;
  for (std::size_t j = 0; j < point.size(); ++j) {
    double step = gradient[j];
    if (options.bound && j + options.unbounded < point.size())
      step = point[j] - std::clamp(point[j] - step, options.bound->first, options.bound->second);
    sum += step * step;
  }
  return std::sqrt(sum);
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

Minimizer::Minimizer(const std::vector<double>& start, const MinimizeOptions& options)
    : options_(options),
      method_(make_descent_method(start, options)),
      point_(method_->now.x.begin(), method_->now.x.end()) {}

void Minimizer::tell(double value, const std::vector<double>& gradient) {
  ++result_.evaluations;
  Iterate& now = method_->now;
  if (std::isfinite(value) && all_finite(gradient)) {
    now.value = value;
    now.gradient = Eigen::Map<const Eigen::VectorXd>(gradient.data(), std::ssize(gradient));
    record_best(value, gradient);
  } else {
    now.value = kWall;
    now.gradient.setZero(now.x.size());
  }
  if (result_.value < kUnboundedValue) return finish(MinimizeStatus::unbounded);
  try {
    if (advance()) {
      point_.assign(now.x.begin(), now.x.end());
      return;
    }
  } catch (const std::logic_error&) {
    // A direction that leads uphill: rounding has taken over.
    return finish(MinimizeStatus::line_search);
  } catch (const std::runtime_error&) {
    return finish(MinimizeStatus::line_search);
  }
  result_.iterations = std::max(1, iteration_);
  if (result_.evaluations == 1 && result_.gradient_norm == 0) return finish(MinimizeStatus::zero_gradient);
  const bool at_limit = result_.iterations >= options_.max_iterations && result_.gradient_norm > options_.tolerance;
  finish(at_limit ? MinimizeStatus::iteration_limit : MinimizeStatus::converged);
}

void Minimizer::resume(const MinimizeOptions& options) {
  options_ = options;
  point_ = std::move(result_.point);
  result_ = {};
  method_->now.x = Eigen::Map<const Eigen::VectorXd>(point_.data(), std::ssize(point_));
  iteration_ = improvements_ = 0;
  done_ = false;
}

void Minimizer::record_best(double value, const std::vector<double>& gradient) {
  if (!result_.point.empty() && value >= result_.value) return;
  result_.point = point_;
  result_.value = value;
  result_.gradient_norm = projected_norm(point_, gradient, options_);
  ++improvements_;
}

bool Minimizer::advance() {
  const bool at_start = result_.evaluations == 1;
  if (!at_start) {
    if (!method_->line_search_ends()) return true;
    ++iteration_;
  }
  if (should_stop()) return false;
  last_value_ = method_->now.value;
  if (at_start) {
    method_->begin();
  } else {
    method_->next_direction();
  }
  return true;
}

bool Minimizer::should_stop() const {
  if (method_->gradient_norm() <= options_.tolerance) return true;
  if (iteration_ == 0) return false;
  const double value = method_->now.value;
  const double share = options_.relative_decrease > 0 ? options_.relative_decrease
                       : options_.bound               ? kLeastDecreaseInBox
                                                      : 0;
  const double size = std::max({std::abs(value), std::abs(last_value_), 1.0});
  if (share > 0 && std::abs(last_value_ - value) <= share * size) return true;
  return options_.max_iterations != 0 && iteration_ >= options_.max_iterations;
}

void Minimizer::finish(MinimizeStatus status) {
  done_ = true;
  result_.status = status;
  // A search that was cut short does not say how far it came: every step but the start's was an improvement.
  if (result_.iterations == 0) result_.iterations = std::max(0, improvements_ - 1);
  if (status == MinimizeStatus::line_search && result_.gradient_norm < kNearlyStationary) {
    result_.status = MinimizeStatus::converged;
  }
  if (result_.point.empty()) {
    // Not even the start has a value.
    result_.point = point_;
    result_.value = std::numeric_limits<double>::quiet_NaN();
    result_.status = MinimizeStatus::line_search;
  }
}

MinimizeResult minimize(const DifferentiableFunction& function, const std::vector<double>& start,
                        const MinimizeOptions& options) {
  Minimizer search(start, options);
  std::vector<double> gradient(start.size());
  while (!search.done()) {
    const double value = function(search.ask(), gradient);
    search.tell(value, gradient);
  }
  return search.result();
}

}  // namespace scrm
