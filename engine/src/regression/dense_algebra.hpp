/// Products and factorisations of Eigen's matrices by OpenBLAS and the LAPACK inside it.
///
/// The functions are called by name rather than put behind Eigen's operators by EIGEN_USE_BLAS: that macro changes what
/// inline functions of Eigen mean, so that either the minimiser's own products, and with them the bits of everything
/// that is learned, would change too, or one program would hold two definitions of them.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

namespace scrm {

/// A matrix that is read, as BLAS takes it: any of Eigen's that lies in memory, or its transpose.
struct Operand {
  template <class Derived>
  Operand(const Eigen::DenseBase<Derived>& m)  // NOLINT(google-explicit-constructor): stands for every argument below
      : data(m.derived().data()),
        rows(static_cast<int>(m.rows())),
        cols(static_cast<int>(m.cols())),
        stride(static_cast<int>(std::max<Eigen::Index>(m.derived().outerStride(), 1))),
        transposed(Derived::IsRowMajor) {
    eigen_assert(m.derived().innerStride() == 1);
  }

  const double* data;
  int rows, cols, stride;
  bool transposed;
};

/// A matrix, column-major, that is written to.
using Output = Eigen::Ref<Eigen::MatrixXd>;

/// out += factor · a · b.
void add_product(const Operand& a, const Operand& b, Output out, double factor = 1);
/// out = a · b.
void set_product(const Operand& a, const Operand& b, Output out);
/// Lower triangle of out += a · aᵀ. The upper one is left as it is.
void add_gram(const Operand& a, Output out);
/// Columns b become L⁻¹b, or L⁻ᵀb where Lᵀ is given, of the lower triangle of L.
void solve_triangular(const Operand& l, Output b);

/// Columns b become (LLᵀ)⁻¹b of the Cholesky factor in the lower triangle of L.
template <class Factor>
void solve_cholesky(const Factor& l, Output b) {
  solve_triangular(l, b);
  solve_triangular(l.transpose(), b);
}

/// Replaces the lower triangle of a square matrix by its Cholesky factor. False, with the matrix half overwritten,
/// when it is not positive definite to working precision.
bool cholesky(Output a);
/// The same on all threads, with the same bits whatever their number. The first `done` columns and rows are the factor
/// already, so that it grows with a matrix.
bool parallel_cholesky(Output a, std::int64_t done = 0);

/// Full inverse of the matrix whose Cholesky factor is given in its lower triangle.
Eigen::MatrixXd inverse_by_cholesky(Eigen::MatrixXd factor);

/// Eigenvalues of the symmetric matrix whose lower triangle is given, ascending; `a` becomes the eigenvectors, one a
/// column. Throws Error when the iteration fails, which finite input does not make it do.
Eigen::VectorXd symmetric_eigen(Eigen::MatrixXd& a);

/// a = U diag(σ) Vᵀ with as many columns as a has rows or columns, whichever are fewer; σ descending.
struct SingularValues {
  Eigen::MatrixXd u, v;
  Eigen::VectorXd sigma;
};

/// Throws Error when the iteration fails, which finite input does not make it do.
SingularValues singular_values(Eigen::MatrixXd a);

/// Cholesky with pivoting of the positive semi-definite matrix whose lower triangle is given: PᵀAP = LLᵀ, L with as
/// many columns as there are pivots above `tolerance`, the rank, which is returned. pivots[i] is the row of A that
/// stands at row i of L.
std::int64_t pivoted_cholesky(Eigen::MatrixXd& a, double tolerance, std::span<int> pivots);

/// Takes the part of `vector` out that lies along the columns of `basis`, which has no more columns than rows.
void project_out(Eigen::MatrixXd basis, Eigen::VectorXd& vector);

}  // namespace scrm
