#include "regression/dense_algebra.hpp"

#include <cblas.h>

#include <algorithm>
#include <vector>

#include "pass/parallel_indices.hpp"
#include "scrm/io/error.hpp"

// OpenBLAS carries LAPACK but Debian's package of it has no header for these.
extern "C" {
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info);
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

}  // namespace

bool cholesky(double* a, std::int64_t n, std::int64_t leading) {
  if (n == 0) return true;
  const int order = static_cast<int>(n), lda = static_cast<int>(leading);
  int info = 0;
  dpotrf_("L", &order, a, &lda, &info);
  return info == 0;
}

bool parallel_cholesky(double* a, std::int64_t n) {
  const int lead = static_cast<int>(n);
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  const auto size = [&](std::int64_t tile) { return static_cast<int>(std::min(kTile, n - tile * kTile)); };
  const auto corner = [&](std::int64_t i, std::int64_t j) { return a + i * kTile + j * kTile * n; };
  for (std::int64_t k = 0; k < tiles; ++k) {
    if (!cholesky(corner(k, k), size(k), n)) return false;
    const std::int64_t below = tiles - k - 1;
    parallel_indices(below, [&](std::int64_t t) {
      const std::int64_t i = k + 1 + t;
      cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, size(i), size(k), 1.0, corner(k, k),
                  lead, corner(i, k), lead);
    });
    parallel_indices(below * below, [&](std::int64_t t) {
      const std::int64_t i = k + 1 + t / below, j = k + 1 + t % below;
      if (j > i) return;
      if (i == j) {
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, size(i), size(k), -1.0, corner(i, k), lead, 1.0,
                    corner(i, i), lead);
        return;
      }
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, size(i), size(j), size(k), -1.0, corner(i, k), lead,
                  corner(j, k), lead, 1.0, corner(i, j), lead);
    });
  }
  return true;
}

void symmetric_eigen(double* a, std::int64_t n, std::span<double> values) {
  if (n == 0) return;
  const int order = static_cast<int>(n), ask = -1;
  int info = 0, integers = 0;
  double doubles = 0;
  dsyevd_("V", "L", &order, a, &order, values.data(), &doubles, &ask, &integers, &ask, &info);
  std::vector<double> work(static_cast<std::size_t>(doubles));
  std::vector<int> integer_work(static_cast<std::size_t>(integers));
  const int work_size = static_cast<int>(std::min<std::size_t>(work.size(), INT32_MAX));
  dsyevd_("V", "L", &order, a, &order, values.data(), work.data(), &work_size, integer_work.data(), &integers, &info);
  if (info != 0) throw Error(ErrorKind::run, "an eigenvalue iteration did not converge: are all numbers finite?");
}

std::int64_t pivoted_cholesky(double* a, std::int64_t n, double tolerance, std::span<int> pivots) {
  if (n == 0) return 0;
  const int order = static_cast<int>(n);
  int rank = 0, info = 0;
  std::vector<double> work(static_cast<std::size_t>(2 * n));
  // A tolerance below zero would mean the library's own.
  dpstrf_("L", &order, a, &order, pivots.data(), &rank, &tolerance, work.data(), &info);
  for (int& pivot : pivots) --pivot;
  return rank;
}

void project_out(double* basis, std::int64_t rows, std::int64_t columns, double* vector) {
  if (columns == 0) return;
  const int m = static_cast<int>(rows), n = static_cast<int>(columns), one = 1, ask = -1;
  int info = 0;
  double size = 0;
  std::vector<double> tau(static_cast<std::size_t>(n));
  dgeqrf_(&m, &n, basis, &m, tau.data(), &size, &ask, &info);
  std::vector<double> work(std::max<std::size_t>(static_cast<std::size_t>(size), 64 * static_cast<std::size_t>(n)));
  const int work_size = static_cast<int>(std::min<std::size_t>(work.size(), INT32_MAX));
  dgeqrf_(&m, &n, basis, &m, tau.data(), work.data(), &work_size, &info);
  // As large as LAPACK's own block triangle beside one vector.
  work.resize(std::max<std::size_t>(work.size(), 64 * 65 + 64));
  const int turn_size = static_cast<int>(std::min<std::size_t>(work.size(), INT32_MAX));
  dormqr_("L", "T", &m, &one, &n, basis, &m, tau.data(), vector, &m, work.data(), &turn_size, &info);
  std::fill_n(vector, columns, 0.0);
  dormqr_("L", "N", &m, &one, &n, basis, &m, tau.data(), vector, &m, work.data(), &turn_size, &info);
}

}  // namespace scrm
