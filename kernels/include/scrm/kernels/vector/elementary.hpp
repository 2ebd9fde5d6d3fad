/// Vectorized exponential, logarithm and cosine of arrays, the ones every kernel uses.
#pragma once

namespace scrm {

/// out[i] = exp(in[i]), within 1 ulp, subnormal results included; 0 below −746, and exactly what the scalar library
/// gives above +700. In place is fine.
void exp_array(const double* in, double* out, int n) noexcept;

/// out[i] = log(in[i]) for in[i] ≥ 0; −inf for zero. In place is fine.
void log_array(const double* in, double* out, int n) noexcept;

/// out[i] = cos(in[i]) to about 1e-15, exactly what the scalar library gives beyond ±30,000. In place is fine.
void cos_array(const double* in, double* out, int n) noexcept;

}  // namespace scrm
