/// Factorisations of dense matrices by the LAPACK inside OpenBLAS, column-major.
#pragma once

#include <cstdint>
#include <span>

namespace scrm {

/// Replaces the lower triangle of the n × n matrix by its Cholesky factor. False, with the matrix half overwritten,
/// when it is not positive definite to working precision.
bool cholesky(double* a, std::int64_t n, std::int64_t leading);

/// Eigenvalues of the symmetric n × n matrix whose lower triangle is given, ascending; `a` becomes the eigenvectors,
/// one a column. Throws Error when the iteration fails, which finite input does not make it do.
void symmetric_eigen(double* a, std::int64_t n, std::span<double> values);

}  // namespace scrm
