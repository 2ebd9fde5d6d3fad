/// What a practitioner should know before trusting an estimate: whose numbers it is about, and in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimate/groups/shape.hpp"
#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

struct Warning {
  std::vector<std::string> about;  ///< estimators, or difference_name()s; empty: all that is said of the policy
  std::string text;

  bool is_about(const std::string& name) const;
};

/// Those of one policy, in the order in which they are read.
class Warnings {
 public:
  void add(std::string text) { all_.push_back({{}, std::move(text)}); }
  /// Puts the names before the text.
  void add_about(std::vector<std::string> names, const std::string& text);
  /// The names are in the text already.
  void add(Warning warning) { all_.push_back(std::move(warning)); }

  /// Whether one is about this estimator or difference, or about the whole policy.
  bool doubt(const std::string& name) const;
  bool doubt_policy() const;
  std::vector<std::string> texts() const;

 private:
  std::vector<Warning> all_;
};

/// Names of estimators whose numbers are beyond the largest double.
struct Overflows {
  std::vector<std::string> values, standard_errors, intervals;
};

/// Says which numbers are missing because losses or weights are too large for them, and what to do.
void add_overflow_warnings(const Overflows& overflows, const std::optional<double>& max_weight, Warnings& warnings);

/// Says so where the weights of single labels do not average to one: `mean` is that of Σ_k (w_k − 1), which should be
/// zero but for what α takes off, `taken`, and `error` its standard error.
void add_label_weight_warning(double mean, double taken, double error, Warnings& warnings);

/// Says so where losses are so small that their squares vanish, and standard errors with them.
void add_underflow_warning(const Moments& loss, bool reward, Warnings& warnings);

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

/// Adds what is doubtful about intervals that rest on the rows alone.
void add_interval_warnings(const IntervalDoubts& doubts, bool clustered, double rows, const Diagnostics& diagnostics,
                           Warnings& warnings);

/// What the check of the mean weight goes by.
struct MeanWeightCheck {
  bool certain = false;               ///< weights are all the same, and not one
  double groups = 0;                  ///< rows, or clusters
  std::optional<Shape> weights = {};  ///< of the mean weight
};

/// Adds the warnings that weights call for: their mean is not one, few rows count, one row dominates, one row only.
/// Sets Diagnostics::small_ess.
void add_weight_warnings(double rows, const MeanWeightCheck& check, Diagnostics& diagnostics, Warnings& warnings);

/// What warnings call a difference.
std::string difference_name(const std::string& estimator, const std::string& baseline);

/// Marks the estimates that warnings are about. What is wrong with an estimate is wrong with its difference, unless
/// that is zero for certain; but not the other way round.
void mark_doubted(const Warnings& warnings, bool difference_is_zero, PolicyReport& report);

}  // namespace scrm
