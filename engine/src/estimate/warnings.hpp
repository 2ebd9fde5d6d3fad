/// What a practitioner should know before trusting an estimate, in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/groups/shape.hpp"
#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

/// Names of estimators whose numbers are beyond the largest double.
struct Overflows {
  std::vector<std::string> values, standard_errors, intervals;
};

/// Says which numbers are missing because losses or weights are too large for them, and what to do.
void add_overflow_warnings(const Overflows& overflows, Diagnostics& diagnostics);

/// Says so where the weights of single labels do not average to one: `mean` is that of Σ_k (w_k − 1), which should be
/// zero but for what α takes off, `taken`, and `error` its standard error.
void add_label_weight_warning(double mean, double taken, double error, Diagnostics& diagnostics);

/// Says so where losses are so small that their squares vanish, and standard errors with them.
void add_underflow_warning(const Moments& loss, bool reward, Diagnostics& diagnostics);

/// Estimates whose intervals may not hold what they say, by reason.
struct IntervalDoubts {
  std::vector<std::string> decided_by_few, without_spread, hiding;
  double fewest = 0;             ///< rows (or clusters) that decide the worst of them
  std::optional<Shape> weights;  ///< of the mean weight

  /// Looks at the shape of an estimate, or of a difference.
  void add(const std::string& name, const Shape& shape);
  void add_difference(const std::string& name, const Shape& shape);
  bool has(const std::string& name) const;

 private:
  void add_decided_by_few(const std::string& name, const Shape& shape);
};

/// Adds what is doubtful about intervals that rest on the rows alone. Returns whether it is the weights, and with them
/// every estimate.
bool add_interval_warnings(const IntervalDoubts& doubts, bool clustered, double rows, Diagnostics& diagnostics);

/// Adds the warnings that weights call for: their mean is not one, few rows count, one row dominates, one row only.
/// `certain`: they are all the same, and not one.
void add_weight_warnings(double rows, bool certain, Diagnostics& diagnostics);

/// What warnings call a difference.
std::string difference_name(const std::string& estimator, const std::string& baseline);

/// Marks the estimates that warnings are about: those that are doubted, or `all`. What is wrong with an estimate is
/// wrong with its difference, unless that is zero for certain; but not the other way round.
void mark_doubted(const IntervalDoubts& doubts, bool all, bool difference_is_zero, PolicyReport& report);

}  // namespace scrm
