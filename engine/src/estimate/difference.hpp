/// The difference between a policy and what it is compared with.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

/// What policies are compared with.
struct Baseline {
  enum class Kind { none, logged, policy };
  Kind kind = Kind::none;
  std::size_t policy = 0;  ///< of Kind::policy

  bool is(std::size_t p) const noexcept { return kind == Kind::policy && policy == p; }
};

/// Throws a usage Error that lists the names when it is none of them.
Baseline find_baseline(const std::string& name, const std::vector<NamedPolicy>& policies);

/// How the estimator is taken of a difference; null where it cannot be.
using DifferencePoint = PointEstimate (*)(const DifferenceTotals& totals);
DifferencePoint difference_point(const Estimator& estimator);

/// The totals of `sums` with the rows it holds, whose clipped weights are known only now. `clipped` are the terms under
/// WeightTransform::clip.
struct FinalDifference {
  Moments ips, clipped, ix;
};
FinalDifference add_held_rows(const DifferenceSums& sums, const WeightOptions& rules, const DifferenceClips& clips,
                              bool logged);

/// Whether both sides of a difference have the same weights in every row, as far as rounding goes: it is zero then,
/// whatever the losses are. `logged`: one side are the logged actions, and recorded propensities were rounded as well.
bool agree_everywhere(const DifferenceSums& sums, double rows, bool logged);

/// Whether an estimate of sides that agree everywhere is rounding alone.
bool is_rounding(const PointEstimate& difference, double rows, const Moments& loss);

}  // namespace scrm
