/// Vectorized exponential and logarithm of arrays, the ones every kernel uses.
#pragma once

namespace scrm {

/// out[i] = exp(in[i]), within 1 ulp, subnormal results included; 0 below −746, and exactly what the scalar library
/// gives above +700. In place is fine.
void exp_array(const double* in, double* out, int n) noexcept;

/// out[i] = log(in[i]) for in[i] ≥ 0; −inf for zero. In place is fine.
void log_array(const double* in, double* out, int n) noexcept;

}  // namespace scrm
