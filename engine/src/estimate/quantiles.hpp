/// Quantiles of the normal and of Student's t distribution.
#pragma once

namespace scrm {

/// z with P(N(0,1) ≤ z) = p, 0 < p < 1.
double normal_quantile(double p);

/// t with P(T ≤ t) = p for T with `degrees` degrees of freedom (> 0).
double student_quantile(double p, double degrees);

}  // namespace scrm
