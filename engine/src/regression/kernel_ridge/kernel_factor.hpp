/// Cholesky factors of kernel matrices that grow state by state.
#pragma once

#include "regression/kernel_ridge/kernel_values.hpp"

namespace scrm {

/// `factor` is L, LLᵀ = K + diagonal, of the first L.rows() states, and becomes that of all; `diagonal` has one number
/// for each state that is new. False, with the factor of no use, where a pivot is not above `tolerance`.
bool extend_kernel_factor(const StateKernel& kernel, const States& states, const Responses& diagonal, double tolerance,
                          Eigen::MatrixXd& factor);

}  // namespace scrm
