/// WolfeLineSearch: the step along a direction, for LBFGSpp's solver.
#pragma once

#include <LBFGS.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace scrm {

/// Brackets a step that meets the strong Wolfe conditions and closes in by cubic interpolation, where the library's own
/// search halves the bracket.
template <class Scalar>
class WolfeLineSearch {
 public:
  template <class Function>
  static void LineSearch(Function& f, double& value, Eigen::VectorXd& x, Eigen::VectorXd& gradient, double& step,
                         const Eigen::VectorXd& direction, const Eigen::VectorXd& from,
                         const LBFGSpp::LBFGSParam<double>& param) {
    const Point start{0, value, gradient.dot(direction)};
    if (start.slope > 0) throw std::logic_error("the direction leads uphill");
    Point low = start, high{};
    bool bracketed = false, halve = false;
    for (int i = 0; i < param.max_linesearch; ++i) {
      x.noalias() = from + step * direction;
      value = f(x, gradient);
      const Point here{step, value, gradient.dot(direction)};
      const double width = bracketed ? high.step - low.step : 0;
      const bool flat_enough = std::abs(here.slope) <= -param.wolfe * start.slope;
      // Where values differ by no more than their rounding, slopes alone tell how good a step is.
      if (flat_enough && std::abs(value - start.value) <= kRounding * std::abs(start.value)) return;
      if (!(value <= start.value + param.ftol * step * start.slope)) {
        high = here;
        bracketed = true;
      } else if (flat_enough) {
        return;
      } else if (here.slope > 0) {
        high = here;
        bracketed = true;
      } else {
        const double longest = kStretch * step;
        step = bracketed ? step : std::clamp(interpolate(low, here), 2 * step, longest);
        low = here;
      }
      if (!bracketed) continue;
      const double left = high.step - low.step;
      if (!(left > 1e-16 * high.step)) throw std::runtime_error("no step lowers the objective");
      // Interpolation that leaves more than half of the bracket twice in a row is up against a kink.
      halve = width > 0 && left > 0.5 * width && !halve;
      step = halve ? low.step + 0.5 * left
                   : std::clamp(interpolate(low, high), low.step + kMargin * left, high.step - kMargin * left);
    }
    throw std::runtime_error("no step lowers the objective");
  }

 private:
  static constexpr double kStretch = 8;
  static constexpr double kMargin = 0.1;
  static constexpr double kRounding = 1e-14;

  struct Point {
    double step = 0, value = 0, slope = 0;
  };

  /// Where the cubic through two values and slopes is smallest; the middle where it has no minimum, or an end is a
  /// wall.
  static double interpolate(const Point& a, const Point& b) {
    const double width = b.step - a.step;
    const double theta = 3 * (a.value - b.value) / width + a.slope + b.slope;
    const double square = theta * theta - a.slope * b.slope;
    const double root = std::sqrt(std::max(square, 0.0));
    const double at = b.step - width * (b.slope + root - theta) / (b.slope - a.slope + 2 * root);
    return square >= 0 && std::isfinite(at) ? at : a.step + 0.5 * width;
  }
};

}  // namespace scrm
