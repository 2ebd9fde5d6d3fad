/// Confidence intervals around an estimate, of every kind.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimate/groups/shape.hpp"
#include "estimate/intervals/cressie_read.hpp"
#include "estimate/intervals/sequence.hpp"
#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

/// Ends of an interval.
using Bounds = std::optional<std::pair<double, double>>;

/// Terms between lowest and highest, whose mean differs by `offset` from the estimate.
struct BoundedTerms {
  double mean = 0;
  double lowest = 0, highest = 0;
  double offset = 0;
};

/// What an estimate would be with weights as they are, where its estimator makes them smaller.
struct WholeWeights {
  double value = 0, standard_error = 0;
  Shape shape;
};

/// What is kept of the bootstrap's values of an estimate: there may be very many of them.
struct ReplicateFacts {
  std::pair<double, double> bounds;  ///< the percentile interval
  double share_below = 0;            ///< of replicates below the threshold, where anybody asks
};
/// None where a value is not finite.
std::optional<ReplicateFacts> replicate_facts(std::vector<double> values, double level, double loss_threshold);

/// What intervals of an estimate are made from. What a kind does not need may be missing.
struct IntervalInputs {
  double rows = 0;
  PointEstimate point;
  std::optional<Shape> shape = {};                   ///< automatic; and student where rows are clustered
  std::optional<WholeWeights> whole = {};            ///< automatic
  bool clustered = false;                            ///< the standard error is that of clusters
  std::optional<double> critical = {};               ///< simultaneous: standard errors to either side
  std::optional<ControlledMoments> controlled = {};  ///< cressie-read
  std::optional<BoundedTerms> bounded = {};      ///< clopper-pearson; sequence where weights and outcomes are bounded
  double epoch_mean = 0;                         ///< the estimate that the epochs' terms give
  const EpochMoments* epochs = nullptr;          ///< sequence of bounded terms
  TermBounds term_bounds = {};                   ///< of the epochs' terms
  std::optional<OutcomeRange> limits = {};       ///< where the estimate's limit must lie, for kinds that rest on bounds
  OutcomeRange outcome = {};                     ///< cressie-read
  std::optional<ReplicateFacts> bootstrap = {};  ///< bootstrap
};

/// [low, high] at the level; none where the inputs do not allow it. At least two rows.
Bounds interval(IntervalKind kind, double level, const IntervalInputs& inputs);

/// How sure one may be that the estimate's limit is below x: the confidence of the one-sided interval that ends there.
/// None where there is no interval.
std::optional<double> confidence_below(IntervalKind kind, double x, const IntervalInputs& inputs);

/// Whether bounds of losses and weights say where the estimator's terms lie.
bool has_known_range(const Estimator& estimator);

/// Why intervals of this kind are not made of this estimator; empty where they are. `bounded`: both bounds are given,
/// and the interval is to rest on them.
std::string inapplicable_interval_reason(IntervalKind kind, const Estimator& estimator, bool bounded);

}  // namespace scrm
