/// Products of a block's mapped context with columns of coefficients: the second half of every gradient.
#pragma once

#include <cstdint>
#include <vector>

#include "scrm/engine/policy/target_policy.hpp"

namespace scrm {

/// out = for each of `columns` coefficient columns c (zero past the block's rows), Σ_i c_i (1, φ(x_i)): columns rows of
/// 1 + width numbers, like the rows of theta.
void theta_gradient(const Block& block, FeatureMap map, const double* coefficients, int columns, PolicyScratch& scratch,
                    double* out);

/// The same for a block whose rows share contexts and a linear map, from one coefficient for each valid context.
void shared_context_gradient(const Block& block, const double* coefficients, int columns, PolicyScratch& scratch,
                             double* out);

/// out[c stride] = the sum of coefficient column c.
void column_totals(const double* coefficients, int columns, std::int64_t stride, double* out);

}  // namespace scrm
