/// Confidence intervals around an estimate.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "scrm/engine/estimate/estimator.hpp"
#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

/// [low, high] at the level, for every kind but bootstrap. Rows are the n of the estimate; at least two.
std::pair<double, double> interval(IntervalKind kind, double level, double rows, const PointEstimate& point);

/// Percentile interval of replicate values; empty when one of them is not finite.
std::optional<std::pair<double, double>> percentile_interval(double level, std::vector<double> values);

}  // namespace scrm
