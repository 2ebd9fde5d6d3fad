/// What intervals of estimates and differences are made from, and what is known of losses and weights.
#pragma once

#include <string>
#include <vector>

#include "estimate/intervals/intervals.hpp"

namespace scrm {

/// Where losses and weights lie: as given, or as seen.
struct KnownBounds {
  OutcomeRange outcome;
  bool outcome_given = false;
  double max_weight = 0;  ///< infinite where none is given

  bool weight_given() const noexcept;
  double end_nearest_zero() const noexcept;
  OutcomeRange measured_from(double from) const noexcept { return {outcome.low - from, outcome.high - from}; }
  /// Whether an interval of this kind rests on bounds that were given, and not on the rows alone.
  bool hold_for(IntervalKind kind) const noexcept;
  /// Losses are measured from here where that makes terms smaller.
  double centre() const noexcept { return outcome.low + (outcome.high - outcome.low) / 2; }
};

/// Throws a data Error where a loss lies outside of the range; `reward`: how messages show it.
KnownBounds known_bounds(const EvaluateOptions& options, const Moments& loss, bool reward);
/// Throws a data Error, with the name of the policy, where a weight does.
void require_within(const KnownBounds& bounds, double largest_weight, const std::string& policy);

/// Throws a usage Error where the options of the interval contradict each other or the data.
void require_valid_interval(const EvaluateOptions& options, bool clustered);

/// What the interval takes for granted, in words; empty where there is nothing to say.
std::string interval_assumption(IntervalKind kind, const KnownBounds& bounds, bool reward);

/// Adds what the kinds that need bounds want to know of a policy's value. `largest` is what t(w) can be at most.
void add_value_inputs(const Estimator& estimator, const PolicyTotals& totals, const KnownBounds& bounds, double largest,
                      IntervalInputs& inputs);
/// The same of a difference; `logged`: the baseline is the logged actions.
void add_difference_inputs(const Estimator& estimator, const DifferenceTotals& totals, const KnownBounds& bounds,
                           bool logged, IntervalInputs& inputs);

/// For a difference whose sides agree everywhere: what an exact copy has, in place of rounding. Of `point`, which is
/// zero already, the range may be one that bounds give.
void set_to_zero(IntervalInputs& inputs);

}  // namespace scrm
