/// require_finite_context: the audit of contexts that lie row by row, by what policies made of them.
#pragma once

#include <span>

#include "scrm/engine/policy/target_policy.hpp"

namespace scrm {

/// A context that is not finite makes the mean of a linear policy so, whatever its θ, or the bound of its scores, and
/// the policy then gives NaN: one look at the weights instead of one at all features.
/// Throws UncertainContext then. `weights` has a column for each policy; where none reads the context it is looked at
/// whole.
void require_finite_context(const Block& block, std::span<const TargetPolicy* const> policies, const double* weights);

}  // namespace scrm
