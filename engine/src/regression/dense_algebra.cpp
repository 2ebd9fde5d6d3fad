#include "regression/dense_algebra.hpp"

#include <cblas.h>

#include <algorithm>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "scrm/io/file/error.hpp"

// OpenBLAS carries LAPACK but Debian's package of it has no header for these.
extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dpotri_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info);
void dpstrf_(const char* uplo, const int* n, double* a, const int* lda, int* piv, int* rank, const double* tol,
             double* work, int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void dormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k, const double* a,
             const int* lda, const double* tau, double* c, const int* ldc, double* work, const int* lwork, int* info);
}

namespace scrm {
namespace {

// Rows and columns of a tile: large enough for matrix products at full speed.
constexpr std::int64_t kTile = 256;
// Columns that LAPACK turns at once, at most: its working memory is so many times a side.
constexpr int kLapackBlock = 64;

CBLAS_TRANSPOSE side_of(const Operand& m) {
  return m.transposed ? CblasTrans : CblasNoTrans;
}

int stride_of(const Output& m) {
  return static_cast<int>(std::max<Eigen::Index>(m.outerStride(), 1));
}

void product(const Operand& a, const Operand& b, double factor, double keep, Output& out) {
  eigen_assert(a.cols == b.rows && out.rows() == a.rows && out.cols() == b.cols);
  if (out.size() == 0) return;
  if (a.cols == 0) {
    if (keep == 0) out.setZero();
    return;
  }
  if (b.cols == 1 && (!b.transposed || b.stride == 1)) {
    cblas_dgemv(CblasColMajor, side_of(a), a.transposed ? a.cols : a.rows, a.transposed ? a.rows : a.cols, factor,
                a.data, a.stride, b.data, 1, keep, out.data(), 1);
    return;
  }
  cblas_dgemm(CblasColMajor, side_of(a), side_of(b), a.rows, b.cols, a.cols, factor, a.data, a.stride, b.data, b.stride,
              keep, out.data(), stride_of(out));
}

}  // namespace

void add_product(const Operand& a, const Operand& b, Output out, double factor) {
  product(a, b, factor, 1, out);
}

void set_product(const Operand& a, const Operand& b, Output out) {
  product(a, b, 1, 0, out);
}

void add_gram(const Operand& a, Output out) {
  eigen_assert(out.rows() == a.rows && out.cols() == a.rows);
  if (a.rows == 0 || a.cols == 0) return;
  cblas_dsyrk(CblasColMajor, CblasLower, side_of(a), a.rows, a.cols, 1.0, a.data, a.stride, 1.0, out.data(),
              stride_of(out));
}

void solve_triangular(const Operand& l, Output b) {
  eigen_assert(l.rows == l.cols && l.rows == b.rows());
  if (b.size() == 0) return;
  if (b.cols() == 1) {
    cblas_dtrsv(CblasColMajor, CblasLower, side_of(l), CblasNonUnit, l.rows, l.data, l.stride, b.data(), 1);
    return;
  }
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, side_of(l), CblasNonUnit, l.rows, static_cast<int>(b.cols()), 1.0,
              l.data, l.stride, b.data(), stride_of(b));
}

bool cholesky(Output a) {
  if (a.size() == 0) return true;
  const int order = static_cast<int>(a.rows()), stride = stride_of(a);
  int info = 0;
  dpotrf_("L", &order, a.data(), &stride, &info);
  return info == 0;
}

bool parallel_cholesky(Output a, std::int64_t done) {
  const std::int64_t n = a.rows();
  for (std::int64_t k = 0, width = done; k < n; k += width, width = std::min(kTile, n - k)) {
    auto corner = a.block(k, k, width, width);
    if (k >= done && !cholesky(corner)) return false;
    const std::int64_t next = k + width;
    parallel_blocks(n - next, kTile, [&](std::int64_t i, std::int64_t height) {
      cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, static_cast<int>(height),
                  static_cast<int>(width), 1.0, corner.data(), stride_of(a), &a(next + i, k), stride_of(a));
    });
    parallel_block_pairs(
        n - next, kTile, [&](std::int64_t i, std::int64_t height, std::int64_t j, std::int64_t breadth) {
          add_product(a.block(next + i, k, height, width), a.block(next + j, k, breadth, width).transpose(),
                      a.block(next + i, next + j, height, breadth), -1);
        });
  }
  return true;
}

Eigen::MatrixXd inverse_by_cholesky(Eigen::MatrixXd factor) {
  if (factor.size() == 0) return factor;
  const int order = static_cast<int>(factor.rows());
  int info = 0;
  dpotri_("L", &order, factor.data(), &order, &info);
  factor.triangularView<Eigen::StrictlyUpper>() = factor.transpose();
  return factor;
}

Eigen::VectorXd symmetric_eigen(Eigen::MatrixXd& a) {
  Eigen::VectorXd values(a.rows());
  if (a.size() == 0) return values;
  const int order = static_cast<int>(a.rows()), ask = -1;
  int info = 0, integers = 0;
  double doubles = 0;
  dsyevd_("V", "L", &order, a.data(), &order, values.data(), &doubles, &ask, &integers, &ask, &info);
  std::vector<double> work(static_cast<std::size_t>(doubles));
  std::vector<int> integer_work(static_cast<std::size_t>(integers));
  const int work_size = static_cast<int>(std::min<std::size_t>(work.size(), INT32_MAX));
  dsyevd_("V", "L", &order, a.data(), &order, values.data(), work.data(), &work_size, integer_work.data(), &integers,
          &info);
  if (info != 0) throw Error(ErrorKind::run, "an eigenvalue iteration did not converge: are all numbers finite?");
  return values;
}

SingularValues singular_values(Eigen::MatrixXd a) {
  const int m = static_cast<int>(a.rows()), n = static_cast<int>(a.cols()), rank = std::min(m, n);
  SingularValues out{.u = Eigen::MatrixXd(m, rank), .v = Eigen::MatrixXd(n, rank), .sigma = Eigen::VectorXd(rank)};
  if (rank == 0) return out;
  Eigen::MatrixXd transposed_v(rank, n);
  std::vector<int> integer_work(static_cast<std::size_t>(8 * rank));
  std::vector<double> work(1);
  int info = 0;
  for (int work_size : {-1, 0}) {  // the first call only says how much it would like to work with
    if (work_size == 0) {
      work.resize(static_cast<std::size_t>(work[0]));
      work_size = static_cast<int>(work.size());
    }
    dgesdd_("S", &m, &n, a.data(), &m, out.sigma.data(), out.u.data(), &m, transposed_v.data(), &rank, work.data(),
            &work_size, integer_work.data(), &info);
  }
  if (info != 0) throw Error(ErrorKind::run, "a singular value iteration did not converge: are all numbers finite?");
  out.v = transposed_v.transpose();
  return out;
}

std::int64_t pivoted_cholesky(Eigen::MatrixXd& a, double tolerance, std::span<int> pivots) {
  if (a.size() == 0) return 0;
  const int order = static_cast<int>(a.rows());
  int rank = 0, info = 0;
  std::vector<double> work(static_cast<std::size_t>(2 * order));
  // A tolerance below zero would mean the library's own.
  dpstrf_("L", &order, a.data(), &order, pivots.data(), &rank, &tolerance, work.data(), &info);
  for (int& pivot : pivots) --pivot;
  return rank;
}

void project_out(Eigen::MatrixXd basis, Eigen::VectorXd& vector) {
  if (basis.cols() == 0) return;
  const int m = static_cast<int>(basis.rows()), n = static_cast<int>(basis.cols()), one = 1;
  const int size = kLapackBlock * (n + kLapackBlock + 2);
  int info = 0;
  std::vector<double> tau(static_cast<std::size_t>(n)), work(static_cast<std::size_t>(size));
  dgeqrf_(&m, &n, basis.data(), &m, tau.data(), work.data(), &size, &info);
  dormqr_("L", "T", &m, &one, &n, basis.data(), &m, tau.data(), vector.data(), &m, work.data(), &size, &info);
  vector.head(n).setZero();
  dormqr_("L", "N", &m, &one, &n, basis.data(), &m, tau.data(), vector.data(), &m, work.data(), &size, &info);
}

}  // namespace scrm
