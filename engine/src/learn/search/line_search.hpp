/// WolfeLineSearch: the step along a direction, one value and slope at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace scrm {

/// Brackets a step that meets the strong Wolfe conditions and closes in by cubic interpolation, where LBFGSpp's own
/// search halves the bracket. Throws std::logic_error when the direction leads uphill, and std::runtime_error when no
/// step is left to try.
class WolfeLineSearch {
 public:
  /// From a point with this value and slope along the direction.
  WolfeLineSearch(double value, double slope, double first_step) : start_{0, value, slope}, step_(first_step) {
    if (slope > 0) throw std::logic_error("the direction leads uphill");
  }

  /// The step to try.
  double step() const noexcept { return step_; }

  /// Takes value and slope at the step. True when that step is good; otherwise step() is the next to try.
  bool accepts(double value, double slope) {
    const Trial here{step_, value, slope};
    const double width = bracketed_ ? high_.step - low_.step : 0;
    const bool flat_enough = std::abs(slope) <= -kCurvature * start_.slope;
    // Where values differ by no more than their rounding, slopes alone tell how good a step is.
    if (flat_enough && std::abs(value - start_.value) <= kRounding * std::abs(start_.value)) return true;
    if (!(value <= start_.value + kDecrease * step_ * start_.slope)) {
      high_ = here;
      bracketed_ = true;
    } else if (flat_enough) {
      return true;
    } else if (slope > 0) {
      high_ = here;
      bracketed_ = true;
    } else {
      if (!bracketed_) step_ = std::clamp(interpolate(low_, here), 2 * step_, kStretch * step_);
      low_ = here;
    }
    if (++trials_ == kMaxTrials) throw std::runtime_error("no step lowers the objective");
    if (bracketed_) close_in(width);
    return false;
  }

 private:
  static constexpr int kMaxTrials = 60;
  static constexpr double kDecrease = 1e-4;  // the Wolfe conditions' two constants
  static constexpr double kCurvature = 0.9;
  static constexpr double kStretch = 8;
  static constexpr double kMargin = 0.1;
  static constexpr double kRounding = 1e-14;

  struct Trial {
    double step = 0, value = 0, slope = 0;
  };

  /// Chooses a step inside the bracket, which was `width` wide before the last trial.
  void close_in(double width) {
    const double left = high_.step - low_.step;
    if (!(left > 1e-16 * high_.step)) throw std::runtime_error("no step lowers the objective");
    // Interpolation that leaves more than half of the bracket twice in a row is up against a kink.
    halve_ = width > 0 && left > 0.5 * width && !halve_;
    step_ = halve_ ? low_.step + 0.5 * left
                   : std::clamp(interpolate(low_, high_), low_.step + kMargin * left, high_.step - kMargin * left);
  }

  /// Where the cubic through two values and slopes is smallest; the middle where it has no minimum, or an end is a
  /// wall.
  static double interpolate(const Trial& a, const Trial& b) {
    const double width = b.step - a.step;
    const double theta = 3 * (a.value - b.value) / width + a.slope + b.slope;
    const double square = theta * theta - a.slope * b.slope;
    const double root = std::sqrt(std::max(square, 0.0));
    const double at = b.step - width * (b.slope + root - theta) / (b.slope - a.slope + 2 * root);
    return square >= 0 && std::isfinite(at) ? at : a.step + 0.5 * width;
  }

  Trial start_;
  Trial low_ = start_, high_;
  double step_;
  int trials_ = 0;
  bool bracketed_ = false, halve_ = false;
};

}  // namespace scrm
