/// Tuning: which scale of a grid a model-assisted estimator takes, from the sums of the pass alone.
#pragma once

#include <cstdint>
#include <vector>

#include "estimate/groups/group_layout.hpp"
#include "scrm/engine/estimate/evaluate.hpp"

namespace scrm {

/// The grid: from 1, the mean of all weights, up to the number of rows, beyond which hardly any weight lies.
std::vector<double> tuning_scales(std::int64_t rows);

/// Chooses a scale for every tuned estimator and every policy that the model applies to.
void choose_scales(Tuning tuning, const OutcomeModel& model, const std::vector<NamedPolicy>& policies,
                   GroupTable& table);

}  // namespace scrm
