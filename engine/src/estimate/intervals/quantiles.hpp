/// Quantiles of the normal and of Student's t distribution.
#pragma once

namespace scrm {

/// z with P(N(0,1) > z) = tail, 0 < tail < 1: the tail itself, so that one far below 1e-16 keeps its digits.
double normal_upper_quantile(double tail);

/// t with P(T > t) = tail for T with `degrees` degrees of freedom (> 0).
double student_upper_quantile(double tail, double degrees);

}  // namespace scrm
