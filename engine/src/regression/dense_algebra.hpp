/// Factorisations of dense matrices by the LAPACK inside OpenBLAS, column-major.
#pragma once

#include <cstdint>
#include <span>

namespace scrm {

/// Replaces the lower triangle of the n × n matrix by its Cholesky factor. False, with the matrix half overwritten,
/// when it is not positive definite to working precision.
bool cholesky(double* a, std::int64_t n, std::int64_t leading);

/// The same on all threads, with the same bits whatever their number.
bool parallel_cholesky(double* a, std::int64_t n);

/// Eigenvalues of the symmetric n × n matrix whose lower triangle is given, ascending; `a` becomes the eigenvectors,
/// one a column. Throws Error when the iteration fails, which finite input does not make it do.
void symmetric_eigen(double* a, std::int64_t n, std::span<double> values);

/// Cholesky with pivoting of the positive semi-definite n × n matrix whose lower triangle is given: PᵀAP = LLᵀ, L with
/// as many columns as there are pivots above `tolerance`, the rank, which is returned. pivots[i] is the row of A that
/// stands at row i of L.
std::int64_t pivoted_cholesky(double* a, std::int64_t n, double tolerance, std::span<int> pivots);

/// Takes the part of `vector` out that lies along the columns of the rows × columns matrix `basis`, rows ≥ columns,
/// which is overwritten.
void project_out(double* basis, std::int64_t rows, std::int64_t columns, double* vector);

}  // namespace scrm
