/// require_good_rows: the audit of rows that are read where they lie, by what policies and sums made of them.
#pragma once

#include <span>

#include "scrm/engine/policy/target_policy.hpp"
#include "scrm/kernels/weights/moments.hpp"

namespace scrm {

/// A context that is not finite makes the mean of a linear policy so, whatever its θ, or the bound of its scores, and
/// the policy then gives NaN; linear gaussian policies give it for bad actions and propensities too, and a loss that is
/// not finite makes the mean of all losses so. Hence one look at the weights instead of one at everything; what no
/// policy has read is looked at itself.
/// Throws NeedsAudit where a row may be bad. `weights` has a column for each policy, `loss` is the moments of all
/// losses.
void require_good_rows(const Block& block, std::span<const TargetPolicy* const> policies, const double* weights,
                       const Moments& loss);

}  // namespace scrm
