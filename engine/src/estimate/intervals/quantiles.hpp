/// Quantiles of the normal, Student's t and beta distributions, and the incomplete gamma function.
#pragma once

namespace scrm {

/// z with P(N(0,1) > z) = tail, 0 < tail < 1: the tail itself, so that one far below 1e-16 keeps its digits.
double normal_upper_quantile(double tail);

/// t with P(T > t) = tail for T with `degrees` degrees of freedom (> 0).
double student_upper_quantile(double tail, double degrees);

/// P(T > t), for any t.
double student_upper_tail(double t, double degrees);

/// x with P(X ≤ x) = probability for X ~ Beta(a, b), a and b above 0 (or X = 0 where a is 0, X = 1 where b is 0).
double beta_quantile(double probability, double a, double b);

/// ln P(X ≤ x) for X ~ Gamma(a, 1), a and x above 0.
double log_gamma_probability(double a, double x);

}  // namespace scrm
