/// The mixture of logging policies that the balance heuristic weighs against.
#pragma once

#include <memory>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"

namespace scrm {

/// out = log Σ_t share_t π_t(a|x) of every row of the block, around the largest term; `work` is one column.
void log_mixture(const Block& block, const std::vector<std::shared_ptr<const TargetPolicy>>& policies,
                 const std::vector<double>& shares, PolicyScratch& scratch, double* work, double* out);

}  // namespace scrm
