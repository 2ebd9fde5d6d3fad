/// Minimizer: one L-BFGS search as ask and tell, so that many searches can share each pass over the rows.
#pragma once

#include <memory>
#include <vector>

#include "learn/search/descent_method.hpp"
#include "scrm/engine/learn/minimize.hpp"

namespace scrm {

/// L-BFGS, or L-BFGS-B where there is a bound. Until done(): evaluate the objective at ask() and tell() what came out.
class Minimizer {
 public:
  Minimizer(const std::vector<double>& start, const MinimizeOptions& options);

  bool done() const noexcept { return done_; }
  /// The point where value and gradient are wanted next.
  const std::vector<double>& ask() const noexcept { return point_; }
  /// Values and gradients that are no numbers are allowed: the search steps back from them.
  void tell(double value, const std::vector<double>& gradient);
  /// Once done(): goes on from the best point with another objective, whose curvature is taken to be much like that of
  /// the one so far. All counts begin anew.
  void resume(const MinimizeOptions& options);
  /// Complete once done().
  const MinimizeResult& result() const noexcept { return result_; }

 private:
  void record_best(double value, const std::vector<double>& gradient);
  /// Goes on to the next point. False when the search has converged or is at its limit.
  bool advance();
  bool should_stop() const;
  void finish(MinimizeStatus status);

  MinimizeOptions options_;
  std::unique_ptr<DescentMethod> method_;
  bool done_ = false;
  std::vector<double> point_;
  double last_value_ = 0;  // where the iteration began
  int iteration_ = 0;
  int improvements_ = 0;
  MinimizeResult result_;
};

}  // namespace scrm
